/**
 * The active currency codes of ISO 4217 up to amendment 180 (in force since 2026-01-01), with numeric code and
 * exponent. The exponents are ISO's, because the locale data of the runtime describes how money is displayed, not its
 * smallest unit. Left out: metals, bond units, test codes and units of account without a smallest unit (XDR, XSU, XUA).
 */
export interface Currency {
  readonly code: string
  /** Three digits with leading zeros: EUR is 978, ALL is 008. */
  readonly numeric: string
  /** How many decimals the smallest unit is away from the major one: JPY 0, EUR 2, KWD 3. */
  readonly exponent: number
}

/**
 * What the last amendments changed: 170 added VED; 171 to 175 replaced SLL by SLE; 174 HRK by the euro; 176 ANG by XCG,
 * which keeps the number 532; 177 ZWL by ZWG; 178 withdrew CUC; 179 added XAD; 180 replaced BGN by the euro.
 */
const codesByExponent: readonly (readonly [exponent: number, codes: string])[] = [
  [
    0,
    `
    BIF-108 CLP-152 DJF-262 GNF-324 ISK-352 JPY-392 KMF-174 KRW-410 PYG-600 RWF-646 UGX-800 UYI-940
    VND-704 VUV-548 XAF-950 XOF-952 XPF-953
    `,
  ],
  [
    2,
    `
    AED-784 AFN-971 ALL-008 AMD-051 AOA-973 ARS-032 AUD-036 AWG-533 AZN-944 BAM-977 BBD-052 BDT-050
    BMD-060 BND-096 BOB-068 BOV-984 BRL-986 BSD-044 BTN-064 BWP-072 BYN-933 BZD-084 CAD-124 CDF-976
    CHE-947 CHF-756 CHW-948 CNY-156 COP-170 COU-970 CRC-188 CUP-192 CVE-132 CZK-203 DKK-208 DOP-214
    DZD-012 EGP-818 ERN-232 ETB-230 EUR-978 FJD-242 FKP-238 GBP-826 GEL-981 GHS-936 GIP-292 GMD-270
    GTQ-320 GYD-328 HKD-344 HNL-340 HTG-332 HUF-348 IDR-360 ILS-376 INR-356 IRR-364 JMD-388 KES-404
    KGS-417 KHR-116 KPW-408 KYD-136 KZT-398 LAK-418 LBP-422 LKR-144 LRD-430 LSL-426 MAD-504 MDL-498
    MGA-969 MKD-807 MMK-104 MNT-496 MOP-446 MRU-929 MUR-480 MVR-462 MWK-454 MXN-484 MXV-979 MYR-458
    MZN-943 NAD-516 NGN-566 NIO-558 NOK-578 NPR-524 NZD-554 PAB-590 PEN-604 PGK-598 PHP-608 PKR-586
    PLN-985 QAR-634 RON-946 RSD-941 RUB-643 SAR-682 SBD-090 SCR-690 SDG-938 SEK-752 SGD-702 SHP-654
    SLE-925 SOS-706 SRD-968 SSP-728 STN-930 SVC-222 SYP-760 SZL-748 THB-764 TJS-972 TMT-934 TOP-776
    TRY-949 TTD-780 TWD-901 TZS-834 UAH-980 USD-840 USN-997 UYU-858 UZS-860 VED-926 VES-928 WST-882
    XAD-396 XCD-951 XCG-532 YER-886 ZAR-710 ZMW-967 ZWG-924
    `,
  ],
  [
    3,
    `
    BHD-048 IQD-368 JOD-400 KWD-414 LYD-434 OMR-512 TND-788
    `,
  ],
  [
    4,
    `
    CLF-990 UYW-927
    `,
  ],
]

export const currencies: readonly Currency[] = codesByExponent.flatMap(([exponent, codes]) =>
  codes
    .trim()
    .split(/\s+/)
    .map(entry => ({ code: entry.slice(0, 3), numeric: entry.slice(4), exponent })),
)

const byCode: ReadonlyMap<string, Currency> = new Map(currencies.map(currency => [currency.code, currency]))

export const findCurrency = (code: string): Currency | undefined => byCode.get(code)

export const isActiveCurrency = (code: string): boolean => byCode.has(code)

/** Undefined for an inactive code, so that a caller cannot assume two decimals for an unknown currency. */
export const exponentOf = (code: string): number | undefined => byCode.get(code)?.exponent

/** An amount in the major unit, with a point and all decimals of its currency: 4999 EUR is 49.99. */
export function toDecimalText(value: number | string, currency: string): string {
  const exponent = exponentOf(currency) ?? 0
  const digits = String(value).padStart(exponent + 1, '0')
  return exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`
}
