// run_stage: computes one stage of a scan in two launches, or a whole scan of one share
//
// Shape      g: the share; the shader around it has the override STAGE and `keep_partial`, which keeps the state of a share, and
//            uses fold_share and scan_share
// Dispatch   one workgroup of WORKGROUP invocations along x for each share
// Barriers   as fold_share and scan_share
// Tolerance  as fold_share and scan_share
fn run_stage(g: u32, lane: u32) {
    if STAGE == 1u {
        let state = fold_share(g, lane);
        if lane == 0u { keep_partial(g, state); }
        return;
    }
    var before = identity();
    if STAGE == 0u { before = fold_partials(g, lane); }
    scan_share(g, lane, before);
}
