// linear: the index of an invocation in a one-dimensional grid, which the host folds into two dimensions if it is large
//
// Shape      id: @builtin(global_invocation_id); groups: @builtin(num_workgroups); width: workgroup size, all along x
// Dispatch   any with at most 2^32 - 1 invocations
// Barriers   none
// Tolerance  exact
fn linear_id(id: vec3<u32>, groups: vec3<u32>, width: u32) -> u32 {
    return (id.z * groups.y + id.y) * (groups.x * width) + id.x;
}
