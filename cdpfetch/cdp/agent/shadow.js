// Shadow roots: open ones are seen by scripts, closed ones only by the browser, which tells us of them (capture.py).

// Roots that the browser told us of: element -> closed ShadowRoot.
const closedRoots = new WeakMap();
const rootOf = (element) => element.shadowRoot || closedRoots.get(element) || null;

// Elements that may hold a closed root: shown, yet with nothing of their own to show.
const HOSTS = 'article,aside,blockquote,div,footer,h1,h2,h3,h4,h5,h6,header,main,nav,p,section,span';
function suspects() {
  const found = [];
  const scopes = [document];
  for (let scope = scopes.pop(); scope && found.length < 200; scope = scopes.pop()) collectSuspects(scope, scopes, found);
  return found;
}
function collectSuspects(scope, scopes, found) {
  for (const element of scope.querySelectorAll('*')) {
    if (found.length >= 200) return;
    const root = rootOf(element);
    if (root) { scopes.push(root); continue; }
    const name = element.localName;
    if (name.includes('-')) {
      if (element.matches(':defined') && (!element.firstChild || element.checkVisibility())) found.push(element);
    } else if (!element.firstChild && element.matches(HOSTS) && element.offsetHeight > 4 && element.offsetWidth > 20 && getComputedStyle(element).backgroundImage === 'none') {
      found.push(element);
    }
  }
}
