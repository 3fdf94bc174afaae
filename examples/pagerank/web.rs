//! Makes pages with links between them, and computes their ranks on the CPU.

/// The links between pages, by the page that they lead to.
pub(crate) struct Web {
    /// Source of each link; the links to one page are neighbours.
    pub(crate) sources: Vec<u32>,
    /// First link to each page, and the number of links.
    pub(crate) offsets: Vec<u32>,
    /// Number of links from each page.
    pub(crate) links: Vec<u32>,
}

impl Web {
    /// Returns a web in which some pages have no links, and pages with low numbers have many links to them.
    pub(crate) fn random(pages: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(20);
        let links: Vec<u32> =
            (0..pages).map(|page| if page % 50 == 0 { 0 } else { random.u32(1..=6) }).collect();
        let mut target = || {
            let part = random.f64();
            ((part * part * part * pages as f64) as usize).min(pages - 1)
        };
        let count: u32 = links.iter().sum();
        let targets: Vec<usize> = (0..count).map(|_| target()).collect();
        let mut offsets = vec![0_u32; pages + 1];
        targets.iter().for_each(|&page| offsets[page + 1] += 1);
        (0..pages).for_each(|page| offsets[page + 1] += offsets[page]);
        let mut next = offsets.clone();
        let mut sources = vec![0_u32; targets.len()];
        let from = (0..).zip(&links).flat_map(|(page, &links)| (0..links).map(move |_| page));
        for (page, to) in from.zip(targets) {
            sources[next[to] as usize] = page;
            next[to] += 1;
        }
        Self { sources, offsets, links }
    }

    /// Returns the ranks after some steps, in `f64`.
    pub(crate) fn ranks(&self, damping: f64, steps: u32) -> Vec<f64> {
        let pages = self.links.len();
        let mut ranks = vec![1.0 / pages as f64; pages];
        for _ in 0..steps {
            let unlinked: f64 =
                ranks.iter().zip(&self.links).filter(|(_, links)| **links == 0).map(|(rank, _)| rank).sum();
            let share = |&page: &u32| ranks[page as usize] / f64::from(self.links[page as usize]);
            let arriving = |page: usize| -> f64 {
                let [first, end] = [page, page + 1].map(|at| self.offsets[at] as usize);
                self.sources[first..end].iter().map(share).sum()
            };
            let base = (1.0 - damping + damping * unlinked) / pages as f64;
            ranks = (0..pages).map(|page| base + damping * arriving(page)).collect();
        }
        ranks
    }
}
