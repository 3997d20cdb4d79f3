// What the daemon's side may ask (tab.py evaluates these).

globalThis.cdpfetchAgent = {
  pulse,
  look,
  serialize,
  refuseConsent,
  images,
  suspects,
  frame: (index) => lastFrames[index],
  addClosedRoot: (host, root) => { closedRoots.set(host, root); },
};
