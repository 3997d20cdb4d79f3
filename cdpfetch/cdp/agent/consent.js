// Cookie banners: refused where a well-known manager shows one, otherwise marked, so that they stay out of the content.

// The button that refuses, and the banner itself, by manager.
const MANAGERS = [
  ['#onetrust-reject-all-handler,.ot-pc-refuse-all-handler', '#onetrust-consent-sdk,#onetrust-banner-sdk'],
  ['#CybotCookiebotDialogBodyButtonDecline,#CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll', '#CybotCookiebotDialog'],
  ['#didomi-notice-disagree-button,.didomi-continue-without-agreeing', '#didomi-host,#didomi-notice'],
  ['.qc-cmp2-summary-buttons button[mode="secondary"]', '#qc-cmp2-container,.qc-cmp2-container'],
  ['#truste-consent-required,.truste-button3', '#truste-consent-track,#consent_blackbar,.truste_overlay'],
  ['[data-testid="uc-deny-all-button"],#uc-btn-deny-banner', '#usercentrics-root,#usercentrics-cmp-ui,#uc-banner-modal'],
  ['.cky-btn-reject', '.cky-consent-container,.cky-modal'],
  ['.cmplz-btn.cmplz-deny', '#cmplz-cookiebanner-container,.cmplz-cookiebanner'],
  ['.osano-cm-denyAll,.osano-cm-button--type_denyAll', '.osano-cm-window'],
  ['.iubenda-cs-reject-btn', '#iubenda-cs-banner'],
  ['.klaro .cn-decline,.klaro .cm-btn-decline', '.klaro'],
  ['#cm__desc ~ * [data-role="necessary"],#cc-main [data-role="necessary"]', '#cc-main,#cc--main'],
  ['[data-tid="banner-decline"]', '#termly-code-snippet-support'],
  ['#axeptio_btn_dismiss', '#axeptio_overlay'],
  ['#ccc-reject-settings,#ccc-notify-reject', '#ccc'],
  ['.cc-window .cc-deny', '.cc-window'],
  ['#tarteaucitronAllDenied2', '#tarteaucitronRoot'],
  ['#hs-eu-decline-button', '#hs-eu-cookie-confirmation'],
  ['.fc-cta-do-not-consent', '.fc-consent-root'],
  ['#wt-cli-reject-btn,.wt-cli-reject-btn,#cookie_action_close_header_reject', '#cookie-law-info-bar'],
  ['.moove-gdpr-infobar-reject-btn', '#moove_gdpr_cookie_info_bar'],
  ['#BorlabsCookieBox [data-cookie-refuse],#BorlabsCookieBox ._brlbs-refuse-btn a', '#BorlabsCookieBox'],
  ['#shopify-pc__banner__btn-decline', '#shopify-pc__banner'],
  ['#sp-cc-rejectall-link', '#sp-cc'],
];
const BANNERS = MANAGERS.map((manager) => manager[1]).join(',');
const BUTTONS = MANAGERS.map((manager) => manager[0]).join(',');
const REFUSED = new WeakSet();

// Presses the refusing button of a known manager that is shown; true when one was pressed.
function refuseConsent() {
  for (const scope of [document, ...Array.prototype.map.call(document.querySelectorAll('#usercentrics-root,#usercentrics-cmp-ui'), rootOf).filter(Boolean)]) {
    for (const button of scope.querySelectorAll(BUTTONS)) {
      if (REFUSED.has(button) || !button.checkVisibility({ visibilityProperty: true })) continue;
      REFUSED.add(button);
      button.click();
      return true;
    }
  }
  return false;
}

const CONSENT_NAME = /cookie|consent|gdpr|\bcmp\b|privacy-(banner|notice|popup)/i;
const CONSENT_TEXT = /\bcookies?\b|consent|datenschutz|einwilligung|privacy (policy|choices)|rgpd|gdpr|confidentialit|galletas/i;

// Whether an element lies over the page to ask about cookies: a known manager's, or one that looks like it.
function isConsent(element) {
  if (!element.id && !element.className && element.localName !== 'dialog' && !element.hasAttribute('role')) return false;
  if (element.id && element.matches(BANNERS)) return true;
  const name = `${element.id} ${typeof element.className === 'string' ? element.className : ''} ${element.getAttribute('aria-label') || ''}`;
  const dialog = element.localName === 'dialog' || /dialog/.test(element.getAttribute('role') || '');
  if (!dialog && !CONSENT_NAME.test(name)) return false;
  if (element.className && element.matches(BANNERS)) return true;
  const position = getComputedStyle(element).position;
  if (!dialog && position !== 'fixed' && position !== 'sticky' && position !== 'absolute') return false;
  return !!element.querySelector('button,[role="button"],a,input') && CONSENT_TEXT.test(element.textContent.slice(0, 20000));
}
