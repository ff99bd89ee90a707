/** The spellings of brands and countries in routing rules, for those who write rules. */
export { findBrandName, findCountryCode } from '#connectors/routing.ts'
