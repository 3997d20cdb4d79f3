// What the page seems to be, as plain observations; what they mean is decided elsewhere (daemon/verdicts.py).

// Marks of bot walls that are shown instead of a page, by vendor.
const WALLS = {
  cloudflare: '#challenge-form,#challenge-running,#cf-challenge-running,#challenge-error-text,.cf-browser-verification,#cf-please-wait,script[src*="/cdn-cgi/challenge-platform/"][src*="orchestrate"]',
  turnstile: '.cf-turnstile,iframe[src*="challenges.cloudflare.com"]',
  datadome: 'iframe[src*="captcha-delivery.com"],script[src*="captcha-delivery.com"]',
  perimeterx: '#px-captcha,script[src*="/captcha/captcha.js"][src*="px"]',
  imperva: 'iframe[src*="_Incapsula_Resource"],#main-iframe[src*="Incapsula"]',
  akamai: '#sec-if-cpt-container,#sec-cpt-if,script[src*="/_sec/cp_challenge/"]',
  kasada: 'script[src*="/149e9513-01fa-4fb0-aad4-566afd725d1b/"]',
  awswaf: '#captcha-container script,script[src*="awswaf.com"][src*="challenge"],#challenge-container',
  hcaptcha: '.h-captcha,iframe[src*="hcaptcha.com"]',
  recaptcha: '.g-recaptcha,iframe[src*="/recaptcha/"]',
  google: 'form#captcha-form[action*="index"]',
  ddosguard: 'script[src*="ddos-guard"]',
  anubis: '#anubis_challenge,script[src*="/.within.website/x/cmd/anubis/"]',
};

const isShown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.getClientRects().length > 0;
const squeezed = (element) => (element ? element.innerText : '').replace(/\s+/g, ' ').trim();

function signals() {
  const passwords = Array.prototype.filter.call(document.querySelectorAll('input[type="password"]'), isShown);
  const names = Array.prototype.filter.call(document.querySelectorAll('input[type="email"],input[autocomplete~="username"],input[name*="user" i],input[name*="login" i],input[name="identifier"]'), isShown);
  const field = passwords[0] || names[0] || null;
  // The form around the field, or the nearest block of some size where pages use no form.
  let box = field && field.form;
  if (field && !box) { box = field.parentElement; while (box && box.parentElement && box.parentElement !== document.body && squeezed(box).length < 80) box = box.parentElement; }
  const whole = squeezed(document.body);
  const walls = Object.keys(WALLS).filter((vendor) => document.querySelector(WALLS[vendor]));
  const heading = Array.prototype.find.call(document.querySelectorAll('h1,h2,[role="heading"]'), isShown);
  return {
    passwords: passwords.length,
    names: names.length,
    formText: squeezed(box).length,
    text: whole.length,
    head: whole.slice(0, 600),
    heading: squeezed(heading).slice(0, 200),
    walls,
    scripted: isScripted(),
  };
}
