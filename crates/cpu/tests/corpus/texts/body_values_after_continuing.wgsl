// expect: compiled
// The block `continuing` uses a call result, a pointer and a load of the loop's body.
@group(0) @binding(0) var<storage, read_write> out: array<i32>;

var<private> steps: i32;

fn twice(x: i32) -> i32 {
    return x * 2;
}

@compute @workgroup_size(16)
fn counts(@builtin(global_invocation_id) id: vec3<u32>) {
    var i = i32(id.x) % 5;
    var squares = array(0, 1, 4, 9, 16);
    loop {
        let square = &squares[i];
        let doubled = twice(*square);
        i += 1;
        continuing {
            let seen = steps;
            steps += doubled;
            break if doubled > 15 || *square > 20 || seen > 90;
        }
    }
    out[id.x] = steps * 100 + i;
}
