/** Prepaid codes, benefit and meal cards. */
import type { Method } from '#methods/method.ts'
import { final, hosted, hostedOrDirect, refunds, refundsWhole, toMethods } from '#methods/rows/row.ts'

const paysafecardCountries =
  'AUT BEL BGR CAN CHE CYP CZE DEU DNK ESP FIN FRA GBR GRC HRV HUN IRL ITA LUX LVA LTU MLT NLD NOR POL PRT ROU SVK SVN SWE'
const paysafecardCurrencies = 'EUR CAD CHF CZK DKK GBP HUF NOK PLN RON SEK'
const neosurfCountries = 'AUS AUT BEL CAN CHE ESP FRA ITA NZL POL PRT'

export const prepaid: readonly Method[] = [
  ...toMethods('prepaid', { flow: 'redirect', integration: hosted, terms: refundsWhole }, [
    ['PAYSAFECARD', 'paysafecard', 'paysafecard', paysafecardCountries, paysafecardCurrencies, refunds],
    ['NEOSURF', 'neosurf', 'Neosurf', neosurfCountries, 'AUD EUR CAD CHF NZD PLN', final],
    ['FLEXEPIN', 'flexepin', 'Flexepin', 'AUS CAN', 'AUD CAD', final],
    ['CASHLIB', 'cashLib', 'CASHlib', 'BEL ESP FRA PRT', 'EUR', final],
    ['RAZERGOLD', 'razerGold', 'Razer Gold', 'IDN MYS PHL SGP THA', 'IDR MYR PHP SGD THB', final],
    ['UNIPIN', 'uniPin', 'UniPin', 'IDN MYS PHL', 'IDR MYR PHP', final],
    ['AIRCASHABON', 'aircashAbon', 'A-bon', 'HRV SVN', 'EUR', final],
    ['ONEVOUCHER', 'oneVoucher', '1Voucher', 'ZAF', 'ZAR', final],
    ['OTTVOUCHER', 'ottVoucher', 'OTT Voucher', 'ZAF', 'ZAR', final],
    ['WEBMONEYJAPAN', 'webMoneyJapan', 'WebMoney (Japan)', 'JPN', 'JPY', final],
    ['BITCASH', 'bitCash', 'BitCash', 'JPN', 'JPY', final],
    ['RAKUTENEDY', 'rakutenEdy', 'Rakuten Edy', 'JPN', 'JPY', final],
    ['MOBILESUICA', 'mobileSuica', 'Mobile Suica', 'JPN', 'JPY', final],
    ['TMONEYKOREA', 'tMoneyKorea', 'T-money', 'KOR', 'KRW', final],
    ['TICKETRESTAURANT', 'ticketRestaurant', 'Ticket Restaurant (Edenred)', 'FRA', 'EUR', refunds],
    ['PLUXEEFRANCE', 'pluxeeFrance', 'Pluxee (France)', 'FRA', 'EUR'],
    ['UPDEJEUNER', 'upDejeuner', 'UpDéjeuner', 'FRA', 'EUR'],
    ['SWILE', 'swile', 'Swile', 'FRA', 'EUR'],
    ['CHEQUEVACANCESCONNECT', 'chequeVacancesConnect', 'Chèque-Vacances Connect', 'FRA', 'EUR'],
    ['EDENREDBELGIUM', 'edenredBelgium', 'Edenred (Belgium)', 'BEL', 'EUR'],
    ['MONIZZE', 'monizze', 'Monizze', 'BEL', 'EUR'],
    ['EPASSI', 'epassi', 'Epassi', 'FIN', 'EUR'],
    ['SMARTUM', 'smartum', 'Smartum', 'FIN', 'EUR'],
    ['SZEPOTP', 'szepOtp', 'OTP SZÉP Card', 'HUN', 'HUF'],
    ['SZEPMBH', 'szepMbh', 'MBH SZÉP Card', 'HUN', 'HUF'],
    ['SZEPKH', 'szepKh', 'K&H SZÉP Card', 'HUN', 'HUF'],
    ['MULTINETUP', 'multinetUp', 'Multinet Up', 'TUR', 'TRY'],
    ['TENBIS', 'tenBis', '10bis', 'ISR', 'ILS'],
    ['CIBUS', 'cibus', 'Pluxee Cibus', 'ISR', 'ILS'],
  ]),
  ...toMethods('prepaid', { flow: 'direct', integration: hostedOrDirect, terms: refundsWhole }, [
    ['ALELO', 'alelo', 'Alelo', 'BRA', 'BRL'],
    ['VRBENEFICIOS', 'vrBeneficios', 'VR Benefícios', 'BRA', 'BRL'],
    ['TICKETBRASIL', 'ticketBrasil', 'Ticket (Brazil)', 'BRA', 'BRL'],
    ['SIVALE', 'siVale', 'Sí Vale', 'MEX', 'MXN'],
    ['PLUXEEINDIA', 'pluxeeIndia', 'Pluxee (India)', 'IND', 'INR', refunds],
  ]),
]
