// limit_groups: copies the group counts of a dispatch, or writes zeros if one exceeds the device's limit

struct Params {
    at: u32,
    limit: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> wanted: array<u32>;
@group(0) @binding(2) var<storage, read_write> limited: array<u32>;

@compute @workgroup_size(1)
fn limit_groups() {
    let groups = vec3(wanted[params.at], wanted[params.at + 1u], wanted[params.at + 2u]);
    let fits = all(groups <= vec3(params.limit));
    limited[0] = select(0u, groups.x, fits);
    limited[1] = select(0u, groups.y, fits);
    limited[2] = select(0u, groups.z, fits);
}
