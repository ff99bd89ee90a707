/** Groups of countries that several methods serve as a whole. */

/** Where the euro is the currency, as of 2026. */
export const euroArea = 'AUT BEL BGR HRV CYP EST FIN FRA DEU GRC IRL ITA LVA LTU LUX MLT NLD PRT SVK SVN ESP'

/** The European Economic Area. */
export const eea = `${euroArea} CZE DNK HUN POL ROU SWE ISL LIE NOR`

/** The geographical scope of the SEPA schemes, as of 2026. */
export const sepa = `${eea} CHE GBR MCO SMR AND VAT ALB MNE MKD MDA SRB`
