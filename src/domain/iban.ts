/** International bank account numbers in their electronic form (ISO 13616): upper case and without spaces. */

/**
 * Country and length, from SWIFT's IBAN registry of 2026. A wrong length reveals typing errors that pass the checksum.
 */
const table = `
  AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
  ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20
  LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29
  PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
  YE30
`

const lengths: ReadonlyMap<string, number> = new Map(
  table
    .trim()
    .split(/\s+/)
    .map(entry => [entry.slice(0, 2), Number(entry.slice(2))]),
)

export function isIban(text: string): boolean {
  if (lengths.get(text.slice(0, 2)) !== text.length || !/^[A-Z]{2}[0-9]{2}[A-Z0-9]+$/.test(text)) return false
  const check = Number(text.slice(2, 4))
  // Valid check digits are 02 to 98; others can pass modulo 97 but are never issued.
  return check >= 2 && check <= 98 && remainder(text.slice(4) + text.slice(0, 4)) === 1
}

/**
 * A creditor identifier of the SEPA direct debit schemes (EPC262-08): country, check digits, a business code chosen by
 * the creditor and not covered by the check digits, and a national identifier.
 */
export function isCreditorId(text: string): boolean {
  const [, start = '', own = ''] = /^([A-Z]{2}[0-9]{2})[A-Z0-9]{3}([A-Z0-9]{1,28})$/.exec(text) ?? []
  return own !== '' && remainder(own + start) === 1
}

/**
 * A BIC as the schemas of ISO 20022 allow it, which refuse a whole file for another one. NOTPROVIDED has that form too,
 * but banks write it for a BIC that they do not know.
 */
export const isBic = (text: string): boolean =>
  /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/.test(text) && text !== 'NOTPROVIDED'

/** Modulo 97 with letters read as 10 to 35, digit by digit so that no number grows too large. */
function remainder(text: string): number {
  let rest = 0
  for (const character of text) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest
}

/** As for cards, only the last four characters are shown, so that customers recognise their account. */
export const maskIban = (iban: string): { last4Digits: string } => ({ last4Digits: iban.slice(-4) })
