// Pictures, for screenshots: the one place that writes to the DOM, to make lazy ones load.

// Resolves when the pictures of the page are there, or after so many milliseconds.
function images(ms) {
  const open = Array.prototype.filter.call(document.images, (image) => !image.complete);
  for (const image of open) image.loading = 'eager';
  const all = Promise.all(open.map((image) => new Promise((done) => { image.addEventListener('load', done); image.addEventListener('error', done); })));
  return Promise.race([all, new Promise((done) => { setTimeout(done, ms); })]).then(() => true);
}
