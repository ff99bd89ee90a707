/** Purchase on invoice. */
import type { Method } from '#methods/method.ts'
import {
  collects,
  delays,
  final,
  hosted,
  hostedOrDirect,
  refunds,
  reserves,
  toMethods,
} from '#methods/rows/row.ts'

export const invoices: readonly Method[] = [
  ...toMethods(
    'invoice',
    { flow: 'multi_step', integration: hostedOrDirect, terms: delays(reserves(30, 'multi_capture')) },
    [['PROVIDERR', 'providerR', 'Provider R', 'DEU AUT CHE NLD', 'EUR CHF']],
  ),
  ...toMethods('invoice', { flow: 'direct', integration: hostedOrDirect, terms: reserves(14) }, [
    ['INVOICE', 'invoice', 'Invoice', '*', '*', collects(30)],
    ['RATEPAY', 'ratePay', 'Ratepay', 'DEU AUT CHE NLD', 'EUR CHF'],
    ['BILLIE', 'billie', 'Billie', 'AUT DEU FRA GBR NLD SWE', 'EUR GBP SEK'],
    ['MONDU', 'mondu', 'Mondu', 'AUT DEU GBR NLD', 'EUR GBP'],
    ['UNZERINVOICE', 'unzerInvoice', 'Unzer Invoice', 'DEU AUT CHE', 'EUR CHF'],
    ['CEMBRAPAY', 'cembraPay', 'CembraPay', 'CHE', 'CHF'],
    ['SWISSBILLING', 'swissbilling', 'Swissbilling', 'CHE', 'CHF'],
    ['POWERPAY', 'powerPay', 'POWERPAY', 'CHE', 'CHF'],
    ['BILLINK', 'billink', 'Billink', 'BEL NLD', 'EUR'],
    ['TWO', 'two', 'Two', 'GBR NOR SWE', 'GBP NOK SEK'],
    ['SVEA', 'svea', 'Svea', 'DNK FIN NOR SWE', 'DKK EUR NOK SEK'],
    ['ENTERPAYLASKU', 'enterpayLasku', 'Enterpay Lasku', 'FIN', 'EUR'],
    ['NPATOBARAI', 'npAtobarai', 'NP Atobarai', 'JPN', 'JPY', collects(30)],
    ['GMOATOBARAI', 'gmoAtobarai', 'GMO Payment After Delivery', 'JPN', 'JPY', collects(30)],
    ['ATOBARAIDOTCOM', 'atobaraiDotCom', 'Atobarai.com', 'JPN', 'JPY', collects(30)],
    ['TREVIPAY', 'treviPay', 'TreviPay', '*', '*'],
    ['KRAFAICELAND', 'krafaIceland', 'Krafa', 'ISL', 'ISK', final],
  ]),
  ...toMethods('invoice', { flow: 'redirect', integration: hosted, terms: refunds }, [
    ['OPLASKU', 'opLasku', 'OP Lasku', 'FIN', 'EUR'],
    ['CREDITKEY', 'creditKey', 'Credit Key', 'USA', 'USD'],
    ['IWOCAPAY', 'iwocaPay', 'iwocaPay', 'GBR', 'GBP'],
  ]),
]
