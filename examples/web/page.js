// The document of the page: input, results and drawings. Rust computes, behind the classes of fencepost.js.

import init, { Checker, Device, FileHash, TwoQueues, Water, eightLines, exampleKernels } from './fencepost.js';

const element = (id) => document.getElementById(id);
const nextFrame = () => new Promise(requestAnimationFrame);
const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// Milliseconds without a key, after which the text of the editor is checked.
const DEBOUNCE = 300;
// Milliseconds between two rounds of the timeline.
const ROUND = 400;
// Milliseconds that the first section may take before the others start.
const PATIENCE = 5000;

const STOPPED = 'Fencepost has stopped because of a mistake of its own. Reload the page to go on.';

// Rust calls this function when it panics; nothing runs afterwards.
globalThis.showPanic = (text) => {
  console.error(text);
  element('page-error').textContent = `${STOPPED}\n${text}`;
};

// Returns the message of an error. A panic also ends calls in flight, with an error of the browser.
function message(reason) {
  if (reason instanceof WebAssembly.RuntimeError) return STOPPED;
  return reason instanceof Error ? reason.message : String(reason);
}

// Does the work of a section. Returns true if it succeeds; else the section shows the error until the next work.
async function work(section, doIt) {
  const error = element(`${section}-error`);
  error.textContent = '';
  try {
    await doIt();
    return true;
  } catch (reason) {
    error.textContent = `This did not work: ${message(reason)}`;
    return false;
  }
}

// Calls `seen` with true or false when a section comes to the screen or leaves it.
function watch(section, seen) {
  const observer = new IntersectionObserver((entries) => seen(entries.at(-1).isIntersecting), { threshold: 0.15 });
  observer.observe(element(section));
}

// Does something when a section first comes to the screen.
function whenSeen(section, doIt) {
  let isNew = true;
  watch(section, (isSeen) => {
    if (isSeen && isNew) {
      isNew = false;
      doIt();
    }
  });
}

// Makes the button of a section do its work, one run at a time. Returns the function that does it.
function onButton(section, doIt) {
  const button = element(`${section}-run`);
  let runs = false;
  const run = async () => {
    if (runs) return;
    runs = true;
    button.setAttribute('aria-disabled', 'true');
    await work(section, doIt);
    button.removeAttribute('aria-disabled');
    runs = false;
  };
  button.disabled = false;
  button.addEventListener('click', run);
  return run;
}

// Repeats the step of a section that moves, while the section is on the screen and its button has not paused it. A
// visitor that prefers little motion starts it with the button.
function keepMoving(section, step) {
  const button = element(`${section}-run`);
  let isWanted = !matchMedia('(prefers-reduced-motion: reduce)').matches;
  let isSeen = false;
  let runs = false;
  const run = async () => {
    button.textContent = isWanted ? 'Pause' : 'Run';
    if (runs) return;
    runs = true;
    const worked = await work(section, async () => {
      while (isWanted && isSeen) await step();
    });
    runs = false;
    if (!worked) {
      isWanted = false;
      button.textContent = 'Run';
    }
  };
  button.disabled = false;
  button.addEventListener('click', () => {
    isWanted = !isWanted;
    run();
  });
  watch(section, (nowSeen) => {
    isSeen = nowSeen;
    if (isSeen) run();
  });
}

function startFirst(device) {
  return onButton('first', async () => {
    element('first-result').textContent = await device.first();
    const speed = await device.speed();
    element('first-launch').textContent = `${speed.launch}, ${Math.round(100 * speed.share)} % of a copy`;
    element('first-copy').textContent = speed.copy;
    element('first-speed').hidden = false;
  });
}

function startBits(device) {
  const run = onButton('bits', async () => {
    element('bits-result').textContent = await device.compare();
  });
  whenSeen('bits', run);
}

// Draws a line for each line of the text behind it, and marks some of them, counted from 1.
function drawMarks(text, marked) {
  const marks = element('races-marks');
  const lines = text.value.split('\n').map((line, at) => {
    const row = document.createElement('div');
    row.textContent = line;
    row.classList.toggle('marked', marked.has(at + 1));
    return row;
  });
  marks.replaceChildren(...lines);
  marks.scrollTop = text.scrollTop;
  marks.scrollLeft = text.scrollLeft;
}

// Moves the cursor of the editor to a line.
function goTo(text, line) {
  const start = text.value.split('\n').slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
  const end = text.value.indexOf('\n', start);
  text.focus();
  text.setSelectionRange(start, end < 0 ? text.value.length : end);
}

function showReport(text, report) {
  const found = report.found;
  drawMarks(text, new Set(found.flatMap((mistake) => [...mistake.lines])));
  element('races-result').textContent = report.summary;
  const items = found.map((mistake) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = mistake.text;
    const [line] = mistake.lines;
    if (line) button.addEventListener('click', () => goTo(text, line));
    const item = document.createElement('li');
    item.append(button);
    return item;
  });
  element('races-list').replaceChildren(...items);
}

function startRaces() {
  const text = element('races-text');
  const choice = element('races-example');
  const kernels = exampleKernels();
  choice.replaceChildren(...kernels.map((kernel) => new Option(kernel.name)));

  let checker;
  let runs = false;
  let isStale = true;
  const check = async () => {
    isStale = true;
    if (runs) return;
    runs = true;
    while (isStale) {
      isStale = false;
      await work('races', async () => {
        checker ??= await Checker.open();
        const report = await checker.check(text.value);
        if (!isStale) showReport(text, report);
      });
    }
    runs = false;
  };

  let timer;
  text.addEventListener('input', () => {
    drawMarks(text, new Set());
    clearTimeout(timer);
    timer = setTimeout(check, DEBOUNCE);
  });
  text.addEventListener('scroll', () => {
    element('races-marks').scrollTop = text.scrollTop;
    element('races-marks').scrollLeft = text.scrollLeft;
  });
  const choose = () => {
    const kernel = kernels[choice.selectedIndex];
    text.value = kernel.text;
    element('races-remedy').textContent = `To correct it: ${kernel.remedy}`;
    drawMarks(text, new Set());
  };
  choice.addEventListener('change', () => {
    choose();
    check();
  });
  choose();
  choice.disabled = false;
  text.disabled = false;
  whenSeen('races', check);
}

function drawTimeline(canvas, timeline) {
  const scale = devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const draw = canvas.getContext('2d');
  const style = getComputedStyle(canvas);
  const colour = (name) => style.getPropertyValue(name);
  draw.scale(scale, scale);
  draw.font = `14px ${style.fontFamily}`;
  draw.textBaseline = 'middle';

  const left = 36;
  const bottom = 28;
  const row = (height - bottom) / 2;
  const place = (time) => left + (time / timeline.end) * (width - left - 12);
  ['a', 'b'].forEach((name, queue) => {
    draw.fillStyle = colour('--quiet');
    draw.fillText(name, 14, (queue + 0.5) * row);
  });
  for (const { queue, waits, start, end } of timeline.bars) {
    const middle = (queue + 0.5) * row;
    const from = place(start);
    const length = Math.max(place(end) - from, 1.5);
    draw.fillStyle = colour(queue ? '--second' : '--accent');
    // A gap of a pixel separates bars that follow each other.
    if (waits) draw.fillRect(from, middle - 1, length, 2);
    else draw.fillRect(from, middle - row * 0.3, Math.max(length - 1, 1.5), row * 0.6);
  }
  draw.fillStyle = colour('--quiet');
  draw.textAlign = 'right';
  draw.fillText(`${(1000 * timeline.end).toPrecision(3)} ms`, width - 12, height - bottom / 2);
}

function startQueues(device) {
  let queues;
  keepMoving('queues', async () => {
    queues ??= TwoQueues.open(device);
    const timeline = await queues.run();
    if (timeline.bars.length) drawTimeline(element('queues-canvas'), timeline);
    element('queues-result').textContent = timeline.summary;
    await after(ROUND);
  });
}

function startWater(device) {
  const canvas = element('water-canvas');
  const draw = canvas.getContext('2d');
  const away = [-1000, -1000];
  let water;
  let mouse = away;
  // Until the first touch, a point circles, so that there are waves to see.
  let touched = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const circling = () => {
    const turn = performance.now() / 1500;
    return [water.width * (0.5 + 0.25 * Math.cos(turn)), water.height * (0.5 + 0.25 * Math.sin(turn))];
  };

  canvas.addEventListener('pointermove', (event) => {
    if (!water) return;
    touched = true;
    const box = canvas.getBoundingClientRect();
    const part = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    mouse = [part[0] * water.width, part[1] * water.height];
  });
  canvas.addEventListener('pointerleave', () => { mouse = away; });
  canvas.addEventListener('blur', () => { mouse = away; });
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener('keydown', (event) => {
    const step = steps[event.key];
    if (!water || !step) return;
    event.preventDefault();
    touched = true;
    const size = [water.width, water.height];
    const from = mouse === away ? size.map((side) => side / 2) : mouse;
    mouse = from.map((at, axis) => Math.min(Math.max(at + step[axis] * size[axis] / 40, 0), size[axis] - 1));
  });

  let frames = 0;
  let since = performance.now();
  keepMoving('water', async () => {
    if (!water) {
      water = Water.open(device);
      canvas.width = water.width;
      canvas.height = water.height;
    }
    await nextFrame();
    const pixels = await water.frame(...(touched ? mouse : circling()));
    draw.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), water.width, water.height), 0, 0);
    frames += 1;
    const seconds = (performance.now() - since) / 1000;
    if (seconds > 1) {
      element('water-result').textContent = `${Math.round(frames / seconds)} frames of 40 steps a second, ${water.width} by ${water.height} cells`;
      frames = 0;
      since = performance.now();
    }
  });
}

function startHash(device) {
  const input = element('hash-file');
  const drop = element('hash-drop');
  const progress = element('hash-progress');
  const result = element('hash-result');
  let current;

  const hashFile = (file) => work('hash', async () => {
    current = file;
    result.textContent = '';
    progress.hidden = false;
    progress.value = 0;
    const hash = FileHash.open(device, file.size);
    while (!hash.done) {
      const bytes = await file.slice(hash.start, hash.end).arrayBuffer();
      await hash.push(new Uint8Array(bytes));
      if (current !== file) {
        hash.free(); // the visitor has chosen another file
        return;
      }
      progress.value = hash.done ? 1 : hash.start / file.size;
    }
    const found = await hash.finish();
    if (current === file) result.textContent = `${found.hash}\n${file.name}: ${found.speed}`;
  });

  input.addEventListener('change', () => {
    if (input.files.length) hashFile(input.files[0]);
  });
  // Without this, a file that misses the field replaces the page.
  for (const type of ['dragover', 'drop']) addEventListener(type, (event) => event.preventDefault());
  drop.addEventListener('dragover', () => drop.classList.add('over'));
  drop.addEventListener('dragleave', () => drop.classList.remove('over'));
  drop.addEventListener('drop', (event) => {
    drop.classList.remove('over');
    const [file] = event.dataTransfer.files;
    if (file) hashFile(file);
  });
  input.disabled = false;
}

async function start() {
  await init({ module_or_path: new URL('fencepost_bg.wasm', import.meta.url) });
  element('first-code').textContent = eightLines();
  const device = await Device.open();
  element('device').textContent = device.line;
  // The other sections wait, because their work would slow the measured one. A section that hangs holds none of them up.
  await Promise.race([startFirst(device)(), after(PATIENCE)]);
  startBits(device);
  startRaces();
  startQueues(device);
  startWater(device);
  startHash(device);
}

start().catch((reason) => {
  element('device').textContent = '';
  element('page-error').textContent = `The page could not start: ${message(reason)}`;
});
