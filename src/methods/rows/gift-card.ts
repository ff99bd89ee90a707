/** Gift cards. */
import type { Method } from '#methods/method.ts'
import { final, hostedOrDirect, refunds, refundsWhole, toMethods } from '#methods/rows/row.ts'

export const giftCards: readonly Method[] = toMethods(
  'gift_card',
  { flow: 'direct', integration: hostedOrDirect, terms: refundsWhole },
  [
    ['STOREGIFTCARD', 'storeGiftCard', 'Store gift card', '*', '*', refunds],
    ['GIVEX', 'givex', 'Givex gift card', '*', '*'],
    ['SVSGIFTCARD', 'svsGiftCard', 'SVS gift card', 'CAN USA', 'CAD USD'],
    ['BLACKHAWK', 'blackhawk', 'Blackhawk Network gift card', 'AUS CAN GBR USA', 'AUD CAD GBP USD', final],
    ['INTERSOLVE', 'intersolve', 'Intersolve gift card', 'NLD', 'EUR'],
    ['VVVCADEAUKAART', 'vvvCadeaukaart', 'VVV Cadeaukaart', 'NLD', 'EUR'],
    ['YOURGIFT', 'yourGift', 'YourGift', 'BEL NLD', 'EUR'],
    ['WEBSHOPGIFTCARD', 'webshopGiftcard', 'Webshop Giftcard', 'NLD', 'EUR'],
    ['FASHIONCHEQUE', 'fashioncheque', 'fashioncheque', 'NLD', 'EUR'],
    ['BOEKENBON', 'boekenbon', 'Boekenbon', 'NLD', 'EUR'],
    ['ILLICADO', 'illicado', 'Illicado', 'FRA', 'EUR'],
    ['ONE4ALL', 'one4all', 'One4all', 'GBR IRL', 'GBP EUR', final],
    ['LOVE2SHOP', 'love2shop', 'Love2shop', 'GBR', 'GBP', final],
    ['WUNSCHGUTSCHEIN', 'wunschgutschein', 'Wunschgutschein', 'AUT DEU', 'EUR', final],
    ['CULTURELANDKOREA', 'culturelandKorea', 'Cultureland', 'KOR', 'KRW', final],
    ['BOOKANDLIFE', 'bookAndLife', 'Book & Life', 'KOR', 'KRW', final],
    ['QWIKCILVER', 'qwikcilver', 'Qwikcilver gift card', 'IND', 'INR'],
  ],
)
