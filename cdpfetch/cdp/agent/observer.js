// What changes in the document, and how it stands: the pulse that readiness is decided by (lifecycle.py).

const SILENT = new Set(['SCRIPT', 'STYLE', 'LINK', 'META', 'TITLE', 'TEMPLATE', 'NOSCRIPT', 'HEAD']);
let changedAt = performance.now();
let lastLength = -1;
let changes = 0; // of the text since the document has loaded
const speaks = (node) => node.nodeType === 3
  ? !(node.parentNode && SILENT.has(node.parentNode.nodeName)) && /\S/.test(node.data)
  : node.nodeType === 1 && !SILENT.has(node.nodeName) && /\S/.test(node.textContent);
const observer = new MutationObserver((records) => {
  for (const record of records) {
    const speaking = record.type === 'characterData' ? speaks(record.target)
      : Array.prototype.some.call(record.addedNodes, speaks);
    if (speaking) {
      changedAt = performance.now();
      if (document.readyState === 'complete') changes += 1;
      return;
    }
  }
});
observer.observe(document, { subtree: true, childList: true, characterData: true });

const EXECUTABLE = /^$|^module$|(java|ecma)script/i;
const isScripted = () => Array.prototype.some.call(document.scripts, (s) => EXECUTABLE.test(s.type || ''));

const WAITING = '[aria-busy="true"],[role="progressbar"],progress:not([value]),[class*="spinner" i],[class*="skeleton" i],[class*="loading-indicator" i],[id*="spinner" i]';
// A line of its own that says no more than this; in a longer text it is a word like any other.
const WAITING_TEXT = /^[^\p{L}\n]*(loading|please wait|one moment|just a moment|wird geladen|lädt|chargement|cargando|caricamento|carregando|загрузка|読み込み中|加载中|로딩)( (content|data|page|results|comments|please|more|up))?[^\p{L}\n]*$/imu;
function isWaiting(text) {
  if (text.length < 1500 && WAITING_TEXT.test(text)) return true;
  if (text.length > 2000) return false;
  for (const element of document.querySelectorAll(WAITING)) {
    if (element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.offsetHeight > 0) return true;
  }
  return false;
}

// Seconds until a meta refresh to another address, or null.
function refreshDelay() {
  for (const meta of document.querySelectorAll('meta[http-equiv="refresh" i]')) {
    const match = /^\s*(\d*\.?\d+)\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']*)/i.exec(meta.content || '');
    if (!match || !match[2]) continue;
    let target;
    try { target = new URL(match[2].trim(), document.baseURI).href; } catch { continue; }
    if (target.split('#')[0] !== location.href.split('#')[0]) return Math.max(0, parseFloat(match[1]) - performance.now() / 1000);
  }
  return null;
}

// The time that an idle callback is given ends with the next timer or frame, and is 50 ms at most: given all of it,
// nothing is due on the page's thread for so long.
const RESTFUL = 45;
// A timer that sets itself anew again and again is not counted there: the text must have been still for so long (ms),
// and have changed no more than so often since the load.
const STILL = 12;
const RESTLESS = 3;

// Whether the page's thread comes to rest within so many milliseconds; waits for that.
function comesToRest(ms) {
  const until = performance.now() + ms;
  return new Promise((resolve) => {
    const ask = () => requestIdleCallback((deadline) => {
      const now = performance.now();
      const free = changes <= RESTLESS && !deadline.didTimeout && deadline.timeRemaining() >= RESTFUL;
      if (free && now - changedAt >= STILL) resolve(true);
      else if (now >= until) resolve(false);
      else ask(); // not by a timer: where scripts are switched off none fires
    }, { timeout: Math.max(1, until - performance.now()) });
    ask();
  });
}

const isTall = () => document.documentElement !== null && document.documentElement.scrollHeight > innerHeight * 1.2;

function visibleText() {
  // Without a body nothing is shown yet; a document of another kind (XML) has no body at all.
  const html = document.documentElement && document.documentElement.localName === 'html';
  let text = document.body ? document.body.innerText : document.documentElement && !html ? document.documentElement.textContent : '';
  if (text.length < 2000) {
    for (const element of document.querySelectorAll('*')) {
      const root = rootOf(element);
      if (root) text += root.textContent;
    }
    for (const frame of document.querySelectorAll('iframe,frame')) {
      try { if (frame.contentDocument && frame.contentDocument.body) text += frame.contentDocument.body.innerText; } catch { /* not ours to read */ }
    }
  }
  return text;
}

// Whether something matches a selector: true without one, null when it is none.
function matches(selector) {
  if (selector === null) return true;
  try { return document.querySelector(selector) !== null; } catch { return null; }
}

function pulse(selector) {
  if (document.readyState !== 'loading' && refuseConsent()) changedAt = performance.now();
  const now = performance.now(); // before the look at its text, which may take long and holds the page meanwhile
  const text = visibleText();
  if (text.length !== lastLength) {
    if (lastLength >= 0) changedAt = performance.now();
    lastLength = text.length;
  }
  return {
    readyState: document.readyState,
    scripted: isScripted(),
    still: Math.max(0, now - changedAt) / 1000,
    length: text.trim().length,
    waiting: isWaiting(text),
    matched: matches(selector),
    refresh: refreshDelay(),
    height: document.documentElement ? document.documentElement.scrollHeight : 0,
    tall: isTall(),
    contentType: document.contentType,
    head: text.slice(0, 16),
  };
}
