// The parts of k-means that no verb of the library computes: the distances, and the new centers.

struct Params { limit: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> y: array<f32>;
@group(0) @binding(3) var<storage, read> centers_in: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> distances: array<f32>; // a row for each point
@group(0) @binding(5) var<storage, read> runs: array<u32>; // number of clusters with points
@group(0) @binding(6) var<storage, read> labels: array<u32>; // label of each run
@group(0) @binding(7) var<storage, read> sizes: array<u32>;
@group(0) @binding(8) var<storage, read> sums_x: array<f32>;
@group(0) @binding(9) var<storage, read> sums_y: array<f32>;
@group(0) @binding(10) var<storage, read_write> centers: array<vec2<f32>>;
@group(0) @binding(11) var<storage, read_write> go: array<u32>;

// Computes the squared distances from a point to all centers.
@compute @workgroup_size(64)
fn measure(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&x) { return; }
    let k = arrayLength(&centers_in);
    for (var center = 0u; center < k; center++) {
        let off = vec2(x[id.x], y[id.x]) - centers_in[center];
        distances[id.x * k + center] = dot(off, off);
    }
}

// Moves the centers to the means of their points. The loop goes on if a center has moved farther than the limit.
@compute @workgroup_size(1)
fn move_centers() {
    var farthest = 0.0;
    for (var run = 0u; run < runs[0]; run++) {
        let center = labels[run];
        let mean = vec2(sums_x[run], sums_y[run]) / f32(sizes[run]);
        farthest = max(farthest, distance(mean, centers[center]));
        centers[center] = mean;
    }
    go[0] = u32(farthest > params.limit);
}
