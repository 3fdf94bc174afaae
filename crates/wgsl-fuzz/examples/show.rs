use fencepost_wgsl_fuzz::*;
fn main() {
    let s: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let n: u64 = std::env::args().nth(2).map(|x| x.parse().unwrap()).unwrap_or(1);
    if n == 1 {
        if let Some(f) = Case::new(s, Options::default()).fault() {
            println!("{}", f.lines().take(8).collect::<Vec<_>>().join("\n"))
        }
        println!("{}", Case::new(s, Options::default()).program().text);
        return;
    }
    let mut bad = 0;
    let mut map = std::collections::BTreeMap::new();
    for i in s..s + n {
        if let Some(f) = Case::new(i, Options::default()).fault() {
            bad += 1;
            let k: String =
                f.lines().next().unwrap().chars().take(150).collect::<String>().replace(char::is_numeric, "");
            let e = map.entry(k).or_insert((0, i));
            e.0 += 1;
        }
    }
    println!("{bad} bad");
    for (k, (c, s)) in map {
        println!("{c} seed {s}: {k}");
    }
}
