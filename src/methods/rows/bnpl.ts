/** Buy now, pay later. */
import type { Method } from '#methods/method.ts'
import {
  delays,
  hosted,
  hostedOrDirect,
  refunds,
  refundsWhole,
  reserves,
  reservesWhole,
  toMethods,
} from '#methods/rows/row.ts'

/** The provider refuses a client token that is older than an hour. */
const providerKTerms = { ...delays(reserves(28, 'multi_capture', 'recurring')), clientTokenMinutes: 60 }
const providerKCountries =
  'AUT BEL CHE CZE DEU DNK ESP FIN FRA GBR GRC HUN IRL ITA NLD NOR POL PRT ROU SVK SWE USA CAN AUS NZL'
const providerKCurrencies = 'EUR CHF CZK DKK GBP HUF NOK PLN RON SEK USD CAD AUD NZD'
/** 13 days: the provider's own limit, for both of its brands. */
const afterpayTerms = reserves(13, 'multi_capture')

export const payLater: readonly Method[] = [
  ...toMethods('bnpl', { flow: 'multi_step', integration: hostedOrDirect, terms: reserves(14) }, [
    ['PROVIDERK', 'providerK', 'Provider K', providerKCountries, providerKCurrencies, providerKTerms],
    ['RIVERTY', 'riverty', 'Riverty', 'AUT BEL CHE DEU DNK FIN NLD NOR SWE', 'EUR CHF DKK NOK SEK'],
  ]),
  ...toMethods('bnpl', { flow: 'redirect', integration: hosted, terms: refunds }, [
    ['AFTERPAY', 'afterpay', 'Afterpay', 'AUS CAN NZL USA', 'AUD CAD NZD USD', afterpayTerms],
    ['CLEARPAY', 'clearpay', 'Clearpay', 'GBR', 'GBP', afterpayTerms],
    ['AFFIRM', 'affirm', 'Affirm', 'CAN GBR USA', 'CAD GBP USD', reserves(30)],
    ['ZIP', 'zip', 'Zip', 'AUS NZL USA', 'AUD NZD USD', reserves(7)],
    ['SEZZLE', 'sezzle', 'Sezzle', 'CAN USA', 'CAD USD', reserves(7)],
    ['HUMM', 'humm', 'humm', 'AUS IRL', 'AUD EUR'],
    ['ZILCH', 'zilch', 'Zilch', 'GBR', 'GBP'],
    ['SCALAPAY', 'scalapay', 'Scalapay', 'ESP FRA ITA PRT', 'EUR', reserves(7)],
    ['ALMA', 'alma', 'Alma', 'BEL DEU ESP FRA IRL ITA LUX NLD PRT', 'EUR'],
    ['SEQURA', 'sequra', 'seQura', 'ESP ITA PRT', 'EUR'],
    ['APLAZAME', 'aplazame', 'Aplazame', 'ESP', 'EUR'],
    ['PAYPO', 'payPo', 'PayPo', 'POL ROU', 'PLN RON'],
    ['ALLEGROPAY', 'allegroPay', 'Allegro Pay', 'POL', 'PLN'],
    ['BLIKPAYLATER', 'blikPayLater', 'BLIK Pay Later', 'POL', 'PLN'],
    ['SKIPPAY', 'skipPay', 'Skip Pay', 'CZE', 'CZK'],
    ['WALLEY', 'walley', 'Walley', 'DNK FIN NOR SWE', 'DKK EUR NOK SEK', reserves(14)],
    ['QLIRO', 'qliro', 'Qliro', 'FIN NOR SWE', 'EUR NOK SEK', reserves(14)],
    ['VIABILL', 'viaBill', 'ViaBill', 'DNK ESP', 'DKK EUR', reserves(7)],
    ['ANYDAY', 'anyday', 'ANYDAY', 'DNK', 'DKK', reserves(7)],
    ['TBIPAY', 'tbiPay', 'tbi bank', 'BGR GRC ROU', 'EUR RON'],
    ['LEANPAY', 'leanPay', 'Leanpay', 'HRV ROU SVN', 'EUR RON'],
    ['DOLYAME', 'dolyame', 'Dolyame', 'RUS', 'RUB'],
    ['YANDEXSPLIT', 'yandexSplit', 'Yandex Split', 'RUS', 'RUB'],
    ['TABBY', 'tabby', 'Tabby', 'ARE KWT SAU', 'AED KWD SAR', reserves(7)],
    ['TAMARA', 'tamara', 'Tamara', 'ARE KWT SAU', 'AED KWD SAR', reserves(7)],
    ['POSTPAY', 'postpay', 'Postpay', 'ARE', 'AED', reserves(7)],
    ['VALU', 'valu', 'valU', 'EGY', 'EGP', refundsWhole],
    ['PAYFLEX', 'payflex', 'Payflex', 'ZAF', 'ZAR'],
    ['PAYJUSTNOW', 'payJustNow', 'PayJustNow', 'ZAF', 'ZAR'],
    ['MOBICRED', 'mobicred', 'Mobicred', 'ZAF', 'ZAR'],
    ['LAZYPAY', 'lazyPay', 'LazyPay', 'IND', 'INR'],
    ['SIMPL', 'simpl', 'Simpl', 'IND', 'INR'],
    ['SNAPMINT', 'snapmint', 'Snapmint', 'IND', 'INR'],
    ['ICICIPAYLATER', 'iciciPayLater', 'ICICI PayLater', 'IND', 'INR', refundsWhole],
    ['KOKO', 'koko', 'Koko', 'LKA', 'LKR'],
    ['MINTPAY', 'mintpay', 'Mintpay', 'LKA', 'LKR'],
    ['PAIDY', 'paidy', 'Paidy', 'JPN', 'JPY', reserves(30, 'recurring')],
    ['ATONE', 'atone', 'atone', 'JPN', 'JPY', reservesWhole(30)],
    ['AFTEE', 'aftee', 'AFTEE', 'TWN', 'TWD', refundsWhole],
    ['ATOME', 'atome', 'Atome', 'MYS PHL SGP', 'MYR PHP SGD'],
    ['SPAYLATER', 'sPayLater', 'SPayLater', 'IDN MYS PHL SGP THA VNM', 'IDR MYR PHP SGD THB VND'],
    ['GRABPAYLATER', 'grabPayLater', 'PayLater by Grab', 'MYS SGP', 'MYR SGD'],
    ['KREDIVO', 'kredivo', 'Kredivo', 'IDN', 'IDR'],
    ['AKULAKU', 'akulaku', 'Akulaku PayLater', 'IDN', 'IDR'],
    ['GOPAYLATER', 'goPayLater', 'GoPay Later', 'IDN', 'IDR'],
    ['BILLEASE', 'billEase', 'BillEase', 'PHL', 'PHP'],
    ['FUNDIIN', 'fundiin', 'Fundiin', 'VNM', 'VND'],
    ['KUESKIPAY', 'kueskiPay', 'Kueski Pay', 'MEX', 'MXN'],
    ['APLAZO', 'aplazo', 'Aplazo', 'MEX', 'MXN'],
    ['ADDI', 'addi', 'Addi', 'COL', 'COP'],
    ['SISTECREDITO', 'sistecredito', 'Sistecrédito', 'COL', 'COP', refundsWhole],
    ['MERCADOCREDITO', 'mercadoCredito', 'Mercado Crédito', 'ARG BRA CHL MEX', 'ARS BRL CLP MXN'],
    ['GOCUOTAS', 'goCuotas', 'GOcuotas', 'ARG', 'ARS'],
    ['SUNBIT', 'sunbit', 'Sunbit', 'USA', 'USD'],
  ]),
]
