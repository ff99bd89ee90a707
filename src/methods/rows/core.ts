/** What several rows share: groups of countries that methods serve as a whole, and the list of the core methods. */

/** Where the euro is the currency, as of 2026. */
export const euroArea = 'AUT BEL BGR HRV CYP EST FIN FRA DEU GRC IRL ITA LVA LTU LUX MLT NLD PRT SVK SVN ESP'

/** The European Economic Area. */
export const eea = `${euroArea} CZE DNK HUN POL ROU SWE ISL LIE NOR`

/** The geographical scope of the SEPA schemes, as of 2026. */
export const sepa = `${eea} CHE GBR MCO SMR AND VAT ALB MNE MKD MDA SRB`

/** In the order a hosted page shows them: offered to every merchant who has not chosen others. */
export const coreTypes: readonly string[] = [
  'CARD',
  'DIRECTDEBIT',
  'PROVIDERK',
  'PROVIDERP',
  'PROVIDERM',
  'PROVIDERR',
  'PROVIDERT',
  'PROVIDERZ',
  'IDEAL',
  'BANCONTACT',
  'EPS',
  'PRZELEWY24',
  'BLIK',
  'TRUSTLY',
  'TWINT',
  'ALIPAY',
  'WECHATPAY',
  'MULTIBANCO',
  'BOLETO',
  'PIX',
  'PAYSAFECARD',
]
