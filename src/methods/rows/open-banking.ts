/** Account-to-account payments that a licensed third party starts for the customer. */
import type { Method } from '#methods/method.ts'
import { final, hosted, hostedOrDirect, refunds, refundsRecurs, toMethods } from '#methods/rows/row.ts'

const tinkCountries = 'AUT BEL DEU DNK ESP EST FIN FRA GBR ITA LTU LVA NLD NOR POL PRT SWE'
const voltCountries = 'AUS AUT BEL BRA DEU ESP FIN FRA GBR IRL ITA NLD POL PRT'

export const openBanking: readonly Method[] = [
  ...toMethods('open_banking', { flow: 'redirect', integration: hosted, terms: refunds }, [
    ['TRUELAYER', 'trueLayer', 'TrueLayer', 'DEU ESP FIN FRA GBR IRL ITA LTU NLD POL PRT', 'EUR GBP PLN'],
    ['TINK', 'tink', 'Pay by Bank (Tink)', tinkCountries, 'EUR DKK GBP NOK PLN SEK', final],
    ['VOLT', 'volt', 'Volt', voltCountries, 'AUD EUR BRL GBP PLN'],
    ['YAPILY', 'yapily', 'Yapily', 'AUT BEL DEU ESP FRA GBR IRL ITA NLD', 'EUR GBP', final],
    ['TOKENIO', 'tokenIo', 'Token.io', 'BEL DEU ESP FRA GBR IRL ITA NLD', 'EUR GBP'],
    ['BRITE', 'brite', 'Brite', 'BEL DEU DNK EST FIN FRA LTU LVA NLD SWE', 'EUR DKK SEK'],
    ['ZIMPLER', 'zimpler', 'Zimpler', 'FIN SWE', 'EUR SEK'],
    ['ECOSPEND', 'ecospend', 'Ecospend', 'GBR', 'GBP'],
    ['FINTECTURE', 'fintecture', 'Fintecture', 'BEL DEU ESP FRA ITA', 'EUR'],
    ['GOCARDLESSINSTANT', 'goCardlessInstant', 'Instant Bank Pay (GoCardless)', 'DEU FRA GBR', 'EUR GBP'],
    ['NUAPAY', 'nuapay', 'Nuapay', 'GBR IRL', 'GBP EUR'],
    ['ATOA', 'atoa', 'Atoa', 'GBR', 'GBP'],
    ['MONTONIO', 'montonio', 'Montonio', 'EST FIN LTU LVA POL', 'EUR PLN'],
    ['KLIX', 'klix', 'Klix by Citadele', 'EST LVA LTU', 'EUR'],
    ['PLAID', 'plaid', 'Pay by Bank (Plaid)', 'USA', 'USD'],
    ['AEROPAY', 'aeropay', 'Aeropay', 'USA', 'USD'],
    ['BLINKPAY', 'blinkPay', 'BlinkPay PayNow', 'NZL', 'NZD'],
    ['KHIPU', 'khipu', 'Khipu', 'CHL', 'CLP'],
    ['FINTOC', 'fintoc', 'Fintoc', 'CHL MEX', 'CLP MXN'],
    ['STITCH', 'stitch', 'Stitch Pay by bank', 'ZAF', 'ZAR'],
  ]),
  ...toMethods('open_banking', { flow: 'direct', integration: hostedOrDirect, terms: refundsRecurs }, [
    ['PAYTO', 'payTo', 'PayTo', 'AUS', 'AUD'],
  ]),
]
