/** Payments on the telephone bill. */
import type { Method } from '#methods/method.ts'
import { final, hosted, refundsWhole, toMethods } from '#methods/rows/row.ts'

export const carrierBilling: readonly Method[] = toMethods(
  'carrier_billing',
  { flow: 'redirect', integration: hosted, terms: final },
  [
    ['BOKU', 'boku', 'Boku Direct Carrier Billing', '*', '*', refundsWhole],
    ['BANGO', 'bango', 'Bango', '*', '*', refundsWhole],
    ['DIMOCO', 'dimoco', 'DIMOCO', 'AUT CHE CZE DEU HUN POL SVK', 'EUR CHF CZK HUF PLN'],
    ['TELEKOMDEUTSCHLAND', 'telekomDeutschland', 'Telekom mobile bill', 'DEU', 'EUR'],
    ['VODAFONEDEUTSCHLAND', 'vodafoneDeutschland', 'Vodafone mobile bill (Germany)', 'DEU', 'EUR'],
    ['O2DEUTSCHLAND', 'o2Deutschland', 'o2 mobile bill (Germany)', 'DEU', 'EUR'],
    ['INTERNETPLUSMOBILE', 'internetPlusMobile', 'Internet+ mobile', 'FRA', 'EUR'],
    ['TURKCELLMOBILODEME', 'turkcellMobilOdeme', 'Turkcell Mobil Ödeme', 'TUR', 'TRY'],
    ['VODAFONEMOBILODEME', 'vodafoneMobilOdeme', 'Vodafone Mobil Ödeme', 'TUR', 'TRY'],
    ['TURKTELEKOMMOBILODEME', 'turkTelekomMobilOdeme', 'Türk Telekom Mobil Ödeme', 'TUR', 'TRY'],
    ['AUKANTANKESSAI', 'auKantanKessai', 'au Kantan Kessai', 'JPN', 'JPY', refundsWhole],
    ['SOFTBANKCARRIER', 'softBankCarrier', 'SoftBank Matomete Shiharai', 'JPN', 'JPY', refundsWhole],
    ['SKTBILLING', 'sktBilling', 'SK Telecom mobile billing', 'KOR', 'KRW', refundsWhole],
    ['KTBILLING', 'ktBilling', 'KT mobile billing', 'KOR', 'KRW', refundsWhole],
    ['LGUPLUSBILLING', 'lgUplusBilling', 'LG U+ mobile billing', 'KOR', 'KRW', refundsWhole],
    ['TELKOMSEL', 'telkomsel', 'Telkomsel billing', 'IDN', 'IDR'],
    ['INDOSAT', 'indosat', 'Indosat Ooredoo Hutchison billing', 'IDN', 'IDR'],
    ['CELCOMDIGI', 'celcomDigi', 'CelcomDigi billing', 'MYS', 'MYR'],
    ['MAXIS', 'maxis', 'Maxis billing', 'MYS', 'MYR'],
    ['SINGTELBILLING', 'singtelBilling', 'Singtel billing', 'SGP', 'SGD'],
    ['AISBILLING', 'aisBilling', 'AIS billing', 'THA', 'THB'],
    ['TRUEMOVEH', 'trueMoveH', 'TrueMove H billing', 'THA', 'THB'],
    ['GLOBEBILLING', 'globeBilling', 'Globe billing', 'PHL', 'PHP'],
    ['SMARTBILLING', 'smartBilling', 'Smart billing', 'PHL', 'PHP'],
    ['STCBILLING', 'stcBilling', 'stc billing', 'SAU', 'SAR'],
    ['ETISALATBILLING', 'etisalatBilling', 'e& UAE billing', 'ARE', 'AED'],
    ['DUBILLING', 'duBilling', 'du billing', 'ARE', 'AED'],
  ],
)
