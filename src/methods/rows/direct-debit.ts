/** Direct debits: the merchant pulls the money from the account by a mandate. */
import type { Method } from '#methods/method.ts'
import { sepa } from '#methods/rows/core.ts'
import { delays, hostedOrDirect, recurs, refundsRecurs, reserves, toMethods } from '#methods/rows/row.ts'

const directDebitTerms = delays(reserves(30, 'credit', 'recurring'))

export const directDebits: readonly Method[] = toMethods(
  'direct_debit',
  { flow: 'direct', integration: hostedOrDirect, terms: recurs },
  [
    ['DIRECTDEBIT', 'directDebit', 'SEPA Direct Debit', sepa, 'EUR', directDebitTerms],
    ['SEPADIRECTDEBITB2B', 'sepaDirectDebitB2b', 'SEPA Direct Debit B2B', sepa, 'EUR'],
    ['BACSDIRECTDEBIT', 'bacsDirectDebit', 'Bacs Direct Debit', 'GBR', 'GBP', refundsRecurs],
    ['ACHDIRECTDEBIT', 'achDirectDebit', 'ACH Direct Debit', 'USA', 'USD', refundsRecurs],
    ['BECSAUSTRALIA', 'becsAustralia', 'BECS Direct Debit (Australia)', 'AUS', 'AUD', refundsRecurs],
    ['BECSNEWZEALAND', 'becsNewZealand', 'BECS Direct Debit (New Zealand)', 'NZL', 'NZD', refundsRecurs],
    ['PREAUTHORIZEDDEBIT', 'preAuthorizedDebit', 'Pre-authorized Debit (PAD)', 'CAN', 'CAD', refundsRecurs],
    ['AUTOGIRO', 'autogiro', 'Autogiro', 'SWE', 'SEK'],
    ['AVTALEGIRO', 'avtaleGiro', 'AvtaleGiro', 'NOR', 'NOK'],
    ['BETALINGSSERVICE', 'betalingsservice', 'Betalingsservice', 'DNK', 'DKK'],
    ['LSVPLUS', 'lsvPlus', 'LSV+', 'CHE LIE', 'CHF EUR'],
    ['CHDD', 'chDd', 'CH-DD Direct Debit', 'CHE', 'CHF EUR'],
    ['POLECENIEZAPLATY', 'polecenieZaplaty', 'Polecenie zapłaty', 'POL', 'PLN'],
    ['INKASOCZECHIA', 'inkasoCzechia', 'Inkaso', 'CZE', 'CZK'],
    ['EGIROSINGAPORE', 'egiroSingapore', 'eGIRO', 'SGP', 'SGD'],
    ['EDDAHONGKONG', 'eddaHongKong', 'eDDA', 'HKG', 'HKD'],
    ['FPXDIRECTDEBIT', 'fpxDirectDebit', 'FPX Direct Debit', 'MYS', 'MYR'],
    ['ENACH', 'eNach', 'e-NACH Mandate', 'IND', 'INR'],
    ['UPIAUTOPAY', 'upiAutoPay', 'UPI AutoPay', 'IND', 'INR', refundsRecurs],
    ['BRIDIRECTDEBIT', 'briDirectDebit', 'BRI Direct Debit', 'IDN', 'IDR', refundsRecurs],
    ['MANDIRIDIRECTDEBIT', 'mandiriDirectDebit', 'Mandiri Direct Debit', 'IDN', 'IDR', refundsRecurs],
    ['BPIDIRECTDEBIT', 'bpiDirectDebit', 'BPI Direct Debit', 'PHL', 'PHP', refundsRecurs],
    ['UNIONBANKDIRECTDEBIT', 'unionBankDirectDebit', 'UnionBank Direct Debit', 'PHL', 'PHP', refundsRecurs],
    ['KOZAFURIKAE', 'kozaFurikae', 'Koza Furikae', 'JPN', 'JPY'],
    ['KOREACMS', 'koreaCms', 'CMS auto-transfer', 'KOR', 'KRW'],
    ['DEBICHECK', 'debiCheck', 'DebiCheck', 'ZAF', 'ZAR'],
    ['UAEDDS', 'uaeDds', 'UAE Direct Debit (UAEDDS)', 'ARE', 'AED'],
    ['PIXAUTOMATICO', 'pixAutomatico', 'Pix Automático', 'BRA', 'BRL', refundsRecurs],
    ['DEBITOAUTOMATICOCBU', 'debitoAutomaticoCbu', 'Débito automático (CBU)', 'ARG', 'ARS'],
    ['DEBIN', 'debin', 'DEBIN', 'ARG', 'ARS', refundsRecurs],
    ['PACCHILE', 'pacChile', 'PAC (Chile)', 'CHL', 'CLP'],
    ['DOMICILIACIONMEXICO', 'domiciliacionMexico', 'Domiciliación bancaria', 'MEX', 'MXN'],
  ],
)
