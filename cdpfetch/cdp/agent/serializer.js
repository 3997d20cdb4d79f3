// The document as one HTML text: shadow roots and readable frames in place, what is not shown marked (capture.py).

const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr']);
const DROPPED = new Set(['style', 'template', 'object', 'embed', 'param', 'track']);
// Shapes carry no text; what is inside them goes on.
const SHAPES = new Set(['path', 'circle', 'rect', 'line', 'polygon', 'polyline', 'ellipse', 'use', 'defs', 'clippath', 'mask', 'filter', 'lineargradient', 'radialgradient', 'pattern', 'marker', 'symbol', 'animate', 'image', 'stop']);
const INLINE = new Set(['span', 'a', 'b', 'i', 'em', 'strong', 'label', 'small', 'code', 'time', 'abbr', 'cite', 'q', 'u', 's', 'font', 'mark', 'bdi', 'bdo', 'data', 'sup', 'sub', 'kbd', 'samp', 'var', 'button', 'slot']);
const INLINE_DISPLAY = /^(inline|contents|ruby|none)/;
const KEPT_SCRIPT = /^(application\/ld\+json|math\/)/i;
// The state of a framework, which is kept where the page shows little of it (extract/embedded.py).
const STATE = /__(?:INITIAL|PRELOADED|APOLLO|APP)_(?:STATE|DATA)__|__NUXT__/;
const LITTLE = 500;
const DROPPED_ATTRIBUTE = /^(on|nonce$|integrity$|srcdoc$|data-cdpfetch)/i;
const ADDRESS = { a: 'href', area: 'href', link: 'href', img: 'src', iframe: 'src', frame: 'src', source: 'src', video: 'src', audio: 'src', form: 'action', q: 'cite', blockquote: 'cite' };
const MAX_DATA_URL = 512;

// U+0000 marks the places of frames in what is handed over, so it may not come from the page.
const clean = (s) => s.includes('\u0000') ? s.replace(/\u0000/g, '') : s;
const escapeText = (s) => /[&<>]/.test(s) ? s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;') : s;
const escapeValue = (s) => /[&"]/.test(s) ? s.replace(/&/g, '&amp;').replace(/"/g, '&quot;') : s;

// Whether the whole document is hidden, and not parts of it.
function isVeiled() {
  return [document.documentElement, document.body].some((element) => {
    if (!element) return false;
    const style = getComputedStyle(element);
    return style.display === 'none' || style.visibility !== 'visible';
  });
}

class Serializer {
  constructor(limits) {
    this.limits = limits;
    this.out = [];
    this.size = 0;
    this.visible = 0;       // characters of visible text, white space not counted
    this.nodes = 0;
    this.truncated = null;  // why it stopped early
    this.frames = [];       // frames whose documents we can't read from here
    this.depth = 0;         // of frames
    this.frameCount = 0;
    // Pages that hide themselves until some script has run (against flicker) are judged without that.
    this.veiled = isVeiled();
    this.started = performance.now();
  }
  put(text) {
    // One script may be larger than everything else; what is small always fits, so that tags are closed.
    if (text.length > 4096 && text.length > this.limits.chars - this.size) { this.overflow(); return; }
    this.out.push(text);
    this.size += text.length;
  }
  overflow() { this.truncated = this.truncated || `more than ${this.limits.chars} characters`; }

  // Walks without recursion: pages nest tens of thousands deep.
  run(first) {
    const stack = [{ node: first, hidden: false, details: false }];
    while (stack.length) {
      const item = stack.pop();
      if (item.close !== undefined) { this.put(item.close); if (item.frame) this.depth -= 1; continue; }
      if ((++this.nodes & 1023) === 0) this.check();
      if (this.truncated && !item.close) continue;
      const node = item.node;
      if (node.nodeType === 3 || node.nodeType === 4) this.text(node, item.hidden);
      else if (node.nodeType === 1) this.element(node, item, stack);
    }
  }
  check() {
    if (this.size > this.limits.chars) this.overflow();
    else if (performance.now() - this.started > this.limits.ms) this.truncated = `more than ${this.limits.ms} ms to serialize`;
  }
  text(node, hidden) {
    let data = node.data;
    // Half of the room: characters that are escaped take more.
    const room = Math.max(0, Math.floor((this.limits.chars - this.size) / 2));
    if (data.length > 4096 && data.length > room) { data = data.slice(0, room); this.overflow(); }
    data = clean(data);
    this.put(escapeText(data));
    if (!hidden) {
      for (let i = 0; i < data.length; i += 1) if (data.charCodeAt(i) > 32) this.visible += 1;
    }
  }
  element(element, item, stack) {
    const name = element.localName;
    if (name === 'script') {
      const state = this.visible < LITTLE && (element.type === 'application/json' || (!element.src && STATE.test(element.textContent)));
      if (state || KEPT_SCRIPT.test(element.type || '')) this.put(`<script type="${escapeValue(element.type)}"${element.id ? ` id="${escapeValue(element.id)}"` : ''}>${clean(element.textContent).replace(/<\/script/gi, '<\\/script')}</script>`);
      return;
    }
    if (DROPPED.has(name)) return;
    if (name === 'noscript') { this.put(`<noscript>${clean(element.textContent)}</noscript>`); return; }
    const inSvg = element.namespaceURI === 'http://www.w3.org/2000/svg';
    if (inSvg && SHAPES.has(name.toLowerCase())) return;
    if (name === 'iframe' || name === 'frame') { this.frame(element, item, stack); return; }
    if (name === 'canvas') return;

    let hidden = item.hidden;
    let marks = '';
    if (!hidden && !inSvg && name !== 'html' && name !== 'body' && name !== 'head' && name !== 'br') {
      if (this.isHidden(element, item.details) || isConsent(element)) { hidden = true; marks = ' data-cdpfetch-hidden=""'; }
      else if (INLINE.has(name) && !INLINE_DISPLAY.test(getComputedStyle(element).display)) marks = ' data-cdpfetch-block=""';
    }
    if (name === 'head') hidden = true;
    const tag = name === 'slot' ? 'span' : name;
    this.put(`<${tag}${this.attributes(element, name)}${marks}>`);
    if (VOID.has(name)) return;
    stack.push({ close: `</${tag}>` });
    if (name === 'video' || name === 'audio') return;
    if (name === 'textarea') { stack.push({ node: document.createTextNode(element.value), hidden }); return; }
    const details = item.details || (name === 'details' && !element.open);
    const root = rootOf(element);
    let children;
    if (root) children = root.childNodes;
    else if (name === 'slot') { children = element.assignedNodes({ flatten: true }); if (!children.length) children = element.childNodes; }
    else children = element.childNodes;
    if (name === 'pre' && children.length && children[0].nodeType === 3 && children[0].data.startsWith('\n')) this.put('\n');
    for (let i = children.length - 1; i >= 0; i -= 1) stack.push({ node: children[i], hidden, details });
  }
  isHidden(element, details) {
    // What a closed <details> holds has no boxes, yet it is content that a reader can open.
    if (details || this.veiled) return getComputedStyle(element).display === 'none';
    if (element.checkVisibility({ visibilityProperty: true })) return false;
    const style = getComputedStyle(element);
    if (style.display === 'contents') return style.visibility !== 'visible';
    if (style.display === 'none') return element.localName !== 'area' && element.localName !== 'option' && element.localName !== 'source' && element.localName !== 'col';
    if (element.hidden === 'until-found') return false;
    if (style.visibility !== 'visible') {
      let seen = 0;
      for (const inner of element.getElementsByTagName('*')) {
        if (++seen > 300) break;
        if (inner.checkVisibility({ visibilityProperty: true })) return false;
      }
      return true;
    }
    // No box, though nothing says none: inside a hidden ancestor that was let through, or content-visibility.
    return false;
  }
  attributes(element, name) {
    let text = '';
    const address = ADDRESS[name];
    for (const attribute of element.attributes) {
      const key = attribute.name;
      let value = clean(attribute.value);
      if (DROPPED_ATTRIBUTE.test(key) || !/^[\w:.@-]+$/.test(key)) continue;
      if (key === address && value && value[0] !== '#') {
        const resolved = element[address];
        if (typeof resolved === 'string' && resolved) value = resolved;
      }
      if (value.length > MAX_DATA_URL && (key === 'style' || value.startsWith('data:'))) { if (value.startsWith('data:')) value = 'data:,'; else continue; }
      // The element stays, with its text, where one value alone is too much.
      if (value.length > 4096 && value.length > this.limits.chars - this.size - text.length) continue;
      text += value === '' ? ` ${key}=""` : ` ${key}="${escapeValue(value)}"`;
    }
    if ((name === 'video' || name === 'audio') && !element.hasAttribute('src')) {
      const source = element.querySelector('source[src]');
      if (source) text += ` src="${escapeValue(clean(source.src))}"`;
    }
    return text;
  }
  frame(element, item, stack) {
    const src = element.src || element.getAttribute('src') || '';
    if (item.hidden || !element.checkVisibility({ visibilityProperty: true })) return;
    if (this.depth >= this.limits.frameDepth || this.frameCount >= this.limits.frames) return;
    const box = element.getBoundingClientRect();
    if (element.localName === 'iframe' && (box.width < 2 || box.height < 2)) return;
    this.frameCount += 1;
    const open = `<div data-cdpfetch-frame="${escapeValue(src)}"${element.title ? ` title="${escapeValue(element.title)}"` : ''}>`;
    let inner = null;
    try { inner = element.contentDocument; } catch { /* another origin */ }
    this.put(open);
    if (inner && inner.body) {
      this.depth += 1;
      stack.push({ close: '</div>', frame: true });
      const children = inner.body.localName === 'frameset' ? [inner.body] : inner.body.childNodes;
      for (let i = children.length - 1; i >= 0; i -= 1) stack.push({ node: children[i], hidden: false, details: false });
    } else {
      // Its place is kept for what the browser can read of it (see fillFrames in capture.py).
      if (!inner) { this.put(`\u0000${this.frames.length}\u0000`); this.frames.push(element); }
      this.put('</div>');
    }
  }
}

let lastFrames = [];
function serialize(limits, asFrame) {
  const serializer = new Serializer(limits);
  const root = document.documentElement;
  if (root) {
    if (asFrame) { for (const child of document.body ? document.body.childNodes : root.childNodes) serializer.run(child); }
    else serializer.run(root);
  }
  lastFrames = serializer.frames;
  return {
    html: (asFrame ? '' : '<!DOCTYPE html>\n') + serializer.out.join(''),
    visible: serializer.visible,
    nodes: serializer.nodes,
    truncated: serializer.truncated,
    frames: serializer.frames.length,
    url: location.href,
    title: document.title,
    contentType: document.contentType,
    charset: document.characterSet,
    declared: !!document.querySelector('meta[charset],meta[http-equiv="content-type" i]'),
    lang: root ? root.lang || '' : '',
    suspects: suspects().length,
    signals: asFrame ? null : signals(),
  };
}

// Elements beyond which a capture takes longer than the answer to a pulse may.
const SMALL = 5000;

// The pulse and, where nothing is expected to change the document any more, the capture with it.  A page with scripts is
// given ``rest`` milliseconds to come to rest first, unless its viewport is still to grow, which may wake it.
async function look(selector, limits, rest, grows) {
  const before = changedAt;
  const whole = document.readyState === 'complete';
  const resting = rest > 0 && isScripted() && !(grows && isTall()) && await comesToRest(rest);
  const seen = pulse(selector);
  seen.atRest = resting && changedAt === before;
  const final = whole && (!seen.scripted || (seen.atRest && !seen.waiting)) && seen.matched && seen.refresh === null;
  if (final && document.getElementsByTagName('*').length < SMALL) seen.taken = serialize(limits, false);
  return seen;
}
