/**
 * The currency of each country (ISO 3166-1 alpha-3 to ISO 4217), as of 2026. Card lists give the country of a card but
 * seldom its currency. If a country has several, the one in which its cards are issued.
 */
const table = `
  EUR: AND ALA AUT BEL BGR BLM CYP DEU ESP EST FIN FRA GLP GRC GUF HRV IRL ITA LTU LUX LVA MAF MCO MLT MNE MTQ MYT NLD
       PRT REU SMR SPM SVK SVN ATF VAT
  USD: USA ASM BES ECU FSM GUM IOT MHL MNP PLW PRI SLV TCA TLS UMI VGB VIR
  GBP: GBR GGY IMN JEY SGS
  AUD: AUS CCK CXR HMD KIR NFK NRU TUV
  NZD: NZL COK NIU PCN TKL
  XOF: BEN BFA CIV GNB MLI NER SEN TGO
  XAF: CAF CMR COG GAB GNQ TCD
  XCD: AIA ATG DMA GRD KNA LCA MSR VCT
  XPF: NCL PYF WLF
  DKK: DNK FRO GRL   NOK: NOR BVT SJM   CHF: CHE LIE   ILS: ISR PSE   MAD: MAR ESH   XCG: CUW SXM
  AED: ARE  AFN: AFG  ALL: ALB  AMD: ARM  AOA: AGO  ARS: ARG  AWG: ABW  AZN: AZE  BAM: BIH  BBD: BRB
  BDT: BGD  BHD: BHR  BIF: BDI  BMD: BMU  BND: BRN  BOB: BOL  BRL: BRA  BSD: BHS  BTN: BTN  BWP: BWA
  BYN: BLR  BZD: BLZ  CAD: CAN  CDF: COD  CLP: CHL  CNY: CHN  COP: COL  CRC: CRI  CUP: CUB  CVE: CPV
  CZK: CZE  DJF: DJI  DOP: DOM  DZD: DZA  EGP: EGY  ERN: ERI  ETB: ETH  FJD: FJI  FKP: FLK  GEL: GEO
  GHS: GHA  GIP: GIB  GMD: GMB  GNF: GIN  GTQ: GTM  GYD: GUY  HKD: HKG  HNL: HND  HTG: HTI  HUF: HUN
  IDR: IDN  INR: IND  IQD: IRQ  IRR: IRN  ISK: ISL  JMD: JAM  JOD: JOR  JPY: JPN  KES: KEN  KGS: KGZ
  KHR: KHM  KMF: COM  KPW: PRK  KRW: KOR  KWD: KWT  KYD: CYM  KZT: KAZ  LAK: LAO  LBP: LBN  LKR: LKA
  LRD: LBR  LSL: LSO  LYD: LBY  MDL: MDA  MGA: MDG  MKD: MKD  MMK: MMR  MNT: MNG  MOP: MAC  MRU: MRT
  MUR: MUS  MVR: MDV  MWK: MWI  MXN: MEX  MYR: MYS  MZN: MOZ  NAD: NAM  NGN: NGA  NIO: NIC  NPR: NPL
  OMR: OMN  PAB: PAN  PEN: PER  PGK: PNG  PHP: PHL  PKR: PAK  PLN: POL  PYG: PRY  QAR: QAT  RON: ROU
  RSD: SRB  RUB: RUS  RWF: RWA  SAR: SAU  SBD: SLB  SCR: SYC  SDG: SDN  SEK: SWE  SGD: SGP  SHP: SHN
  SLE: SLE  SOS: SOM  SRD: SUR  SSP: SSD  STN: STP  SYP: SYR  SZL: SWZ  THB: THA  TJS: TJK  TMT: TKM
  TND: TUN  TOP: TON  TRY: TUR  TTD: TTO  TWD: TWN  TZS: TZA  UAH: UKR  UGX: UGA  UYU: URY  UZS: UZB
  VES: VEN  VND: VNM  VUV: VUT  WST: WSM  YER: YEM  ZAR: ZAF  ZMW: ZMB  ZWG: ZWE
`

const byCountry: ReadonlyMap<string, string> = new Map(
  [...table.matchAll(/([A-Z]{3}):((?:\s+[A-Z]{3}(?!:))+)/g)].flatMap(([, currency = '', countries = '']) =>
    countries
      .trim()
      .split(/\s+/)
      .map(country => [country, currency] as const),
  ),
)

/** Undefined for a territory without a currency (ATA). */
export const currencyOfCountry = (alpha3: string): string | undefined => byCountry.get(alpha3)
