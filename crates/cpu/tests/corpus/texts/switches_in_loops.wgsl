// expect: compiled
// Switches continue and leave loops, and their default case stands at every place.
@group(0) @binding(0) var<storage, read_write> out: array<i32>;

const ONE = 1;

fn nested(x: i32, y: i32) -> i32 {
    var turns = 0;
    loop {
        turns += 1;
        if turns > 9 {
            return turns;
        }
        switch x {
            case ONE: {
                continue;
            }
            case 1 + 1, vec4(3).x: {
                switch y {
                    default: {
                        loop {
                            turns += 2;
                            switch turns {
                                case 4, 5, 6: {
                                    continue;
                                }
                                default: {
                                }
                            }
                            break;
                        }
                    }
                    case 1: {
                        continue;
                    }
                }
                turns += 10;
            }
            default: {
                break;
            }
        }
        if y < 3 {
            break;
        }
    }
    return turns + 100;
}

@compute @workgroup_size(16)
fn chooses(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = i32(id.x);
    var kind: i32;
    switch id.x {
        case 1, default: {
            kind = 1;
        }
        case 3u: {
            kind = 3;
            break;
        }
    }
    switch kind {
        default: {
            kind += 1;
        }
    }
    out[id.x] = nested(i % 4, i / 4) * 10 + kind;
}
