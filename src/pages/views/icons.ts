/**
 * Small drawings of our own: one per family of methods, plain marks for card brands, signs for results. No logo is
 * copied. A page carries them once, as symbols, and shows them by name.
 */
import type { MethodFamily } from '#domain/response-codes.ts'
import { type Html, html, raw } from '#http/html.ts'

/** Strokes of 24 × 24; colour and width come from the style. */
const strokes = {
  card: '<rect x="2.5" y="5" width="19" height="14" rx="2.5"/><path d="M2.5 9.5h19M6 15h4"/>',
  bank: '<path d="M3.5 9.5 12 4l8.5 5.5zM5.5 10v7m4.5-7v7m4-7v7m4.5-7v7M3.5 20h17"/>',
  transfer: '<path d="M4 8.5h14m0 0-3.5-3.5M18 8.5 14.5 12M20 15.5H6m0 0 3.5-3.5M6 15.5 9.5 19"/>',
  wallet:
    '<path d="M3.5 7.5v9a3 3 0 0 0 3 3h11a3 3 0 0 0 3-3v-5a3 3 0 0 0-3-3H5a1.5 1.5 0 0 1 0-4h12.5v4"/><path d="M16.5 14h.01"/>',
  phone: '<rect x="6.5" y="2.5" width="11" height="19" rx="2.5"/><path d="M11 18.5h2"/>',
  qr: '<path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2.5v2.5H14zM20 14v6h-3"/>',
  voucher:
    '<path d="M4 6h16v4a2 2 0 0 0 0 4v4H4v-4a2 2 0 0 0 0-4z"/><path d="M14.5 6v2.5m0 2.5v2m0 2.5V18"/>',
  cash: '<rect x="2.5" y="6" width="19" height="12" rx="2"/><circle cx="12" cy="12" r="2.75"/><path d="M6 9.5h.01M18 14.5h.01"/>',
  later:
    '<rect x="3.5" y="5" width="17" height="15.5" rx="2.5"/><path d="M3.5 10h17M8 3v4m8-4v4m-7.5 8 2.5 2.5 4.5-4.5"/>',
  gift: '<path d="M4 11.5h16V20H4zM3 7.5h18v4H3zM12 7.5V20M12 7.5S10.5 3.5 8 3.5 6.5 7.5 12 7.5zm0 0s1.5-4 4-4 1.5 4-4 4z"/>',
  coin: '<circle cx="12" cy="12" r="8.5"/><path d="M9.5 8h4a2 2 0 0 1 0 4h-4zm0 4h4.5a2 2 0 0 1 0 4H9.5zM11 6.5V8m0 8v1.5M13 6.5V8m0 8v1.5"/>',
  lock: '<rect x="5" y="10.5" width="14" height="9.5" rx="2.5"/><path d="M8 10.5V8a4 4 0 0 1 8 0v2.5"/>',
  check: '<path d="m5 12.5 4.5 4.5L19 7.5"/>',
  cross: '<path d="m6.5 6.5 11 11m0-11-11 11"/>',
  clock: '<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5.5l3.5 2"/>',
  alert: '<circle cx="12" cy="12" r="9"/><path d="M12 7.5v5.5m0 3.25h.01"/>',
  search: '<circle cx="10.5" cy="10.5" r="6"/><path d="m15 15 5 5"/>',
  copy: '<rect x="8.5" y="8.5" width="11.5" height="11.5" rx="2.5"/><path d="M15.5 8.5V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v7.5a2 2 0 0 0 2 2h2.5"/>',
  print: '<path d="M7 8V3.5h10V8M7 16.5H4.5v-8h15v8H17M7 13.5h10v7H7z"/>',
  arrow: '<path d="M19 12H5m0 0 6-6m-6 6 6 6"/>',
  chevron: '<path d="m6 9.5 6 6 6-6"/>',
  shield: '<path d="M12 3 5 5.5v6c0 4.5 3 7.5 7 9.5 4-2 7-5 7-9.5v-6zM9 12l2.25 2.25L15.5 10"/>',
  flask: '<path d="M9.5 3.5h5M10.5 3.5v6L5 18a2 2 0 0 0 1.75 3h10.5A2 2 0 0 0 19 18l-5.5-8.5v-6M7.5 15h9"/>',
} as const

export type IconName = keyof typeof strokes

/** Brands as derived from the card number (domain/cards/card-brands.ts): a coloured plate with a shape or a word. */
const plates: Readonly<Record<string, string>> = {
  unknown:
    '<rect class="plain" width="38" height="24" rx="4"/><path class="plain-line" d="M0 8.5h38M6 16.5h8" stroke-width="2"/>',
  visa: word('#1f3fb0', 'VISA', '#fff'),
  mastercard:
    '<rect width="38" height="24" rx="4" fill="#23272f"/><circle cx="15.5" cy="12" r="6.5" fill="#e0463b"/><circle cx="22.5" cy="12" r="6.5" fill="#f5a63d" fill-opacity=".9"/>',
  maestro:
    '<rect width="38" height="24" rx="4" fill="#23272f"/><circle cx="15.5" cy="12" r="6.5" fill="#3b82d0"/><circle cx="22.5" cy="12" r="6.5" fill="#e0463b" fill-opacity=".9"/>',
  amex: word('#1670b8', 'AMEX', '#fff'),
  diners:
    '<rect width="38" height="24" rx="4" fill="#2a5082"/><circle cx="19" cy="12" r="7" fill="#fff"/><path d="M16.5 7.5v9m5-9v9" stroke="#2a5082" stroke-width="2.5"/>',
  jcb: word('#10704a', 'JCB', '#fff'),
  discover: word('#2b2f36', 'DISC', '#ffb066'),
  unionpay: word('#0c5f73', 'UP', '#fff'),
  mir: word('#1d6b45', 'MIR', '#fff'),
  troy: word('#0b4c5c', 'troy', '#fff'),
}

/** Brands that have a mark here; all others share the plain card. */
export const drawnBrands: readonly string[] = Object.keys(plates).filter(brand => brand !== 'unknown')

function word(plate: string, text: string, ink: string): string {
  return (
    `<rect width="38" height="24" rx="4" fill="${plate}"/>` +
    `<text x="19" y="16" text-anchor="middle" font-family="system-ui,sans-serif" font-size="10.5" font-weight="800" fill="${ink}">${text}</text>`
  )
}

const symbols =
  Object.entries(strokes)
    .map(([name, shape]) => `<symbol id="i-${name}" viewBox="0 0 24 24">${shape}</symbol>`)
    .join('') +
  Object.entries(plates)
    .map(([brand, shape]) => `<symbol id="b-${brand}" viewBox="0 0 38 24">${shape}</symbol>`)
    .join('')

/** Once in every page that shows icons. */
export const iconSheet: Html = raw(
  `<svg class="sheet" width="0" height="0" aria-hidden="true">${symbols}</svg>`,
)

export const icon = (name: IconName): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="#i-${name}"/></svg>`

/** Also for brands that have no mark of their own. */
export const brandMark = (brand: string): Html =>
  html`<svg class="mark" aria-hidden="true"><use href="#b-${Object.hasOwn(plates, brand) ? brand : 'unknown'}"/></svg>`

/** How a brand is written in a sentence. */
const brandNames: Readonly<Record<string, string>> = {
  visa: 'Visa',
  mastercard: 'Mastercard',
  maestro: 'Maestro',
  amex: 'American Express',
  diners: 'Diners Club',
  jcb: 'JCB',
  discover: 'Discover',
  unionpay: 'UnionPay',
  mir: 'Mir',
  troy: 'Troy',
}

/** `otherwise` is the word for a card in the customer's language. */
export const nameBrand = (brand: string, otherwise: string): string =>
  Object.hasOwn(brandNames, brand) ? (brandNames[brand] ?? otherwise) : otherwise

const byFamily: Readonly<Record<MethodFamily, IconName>> = {
  card: 'card',
  direct_debit: 'bank',
  bank_redirect: 'bank',
  bank_transfer: 'transfer',
  open_banking: 'bank',
  wallet: 'wallet',
  mobile: 'phone',
  qr: 'qr',
  crypto: 'coin',
  prepaid: 'voucher',
  gift_card: 'gift',
  carrier_billing: 'phone',
  bnpl: 'later',
  instalment: 'later',
  invoice: 'later',
  voucher: 'voucher',
  cash_on_delivery: 'cash',
}

export const familyIcon = (family: MethodFamily): IconName => byFamily[family]
