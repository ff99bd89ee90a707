/**
 * The language of a page: the one the payment asks for, else the best of the browser's, else English. Texts and
 * formats may differ in detail: de-AT reads the German texts with Austrian numbers.
 */
import { en, type Texts } from '#pages/texts/en.ts'
import { readTexts } from '#pages/texts/index.ts'

export interface Language {
  /** Of the texts, for the `lang` of the page. */
  readonly tag: string
  /** For numbers and dates. */
  readonly locale: string
  readonly direction: 'ltr' | 'rtl'
  readonly texts: Texts
}

const rightToLeft: ReadonlySet<string> = new Set(['ar', 'fa', 'he', 'ur'])
/** Old codes that browsers still send. Both written forms of Norwegian get the Bokmål texts. */
const renamed: Readonly<Record<string, string>> = { no: 'nb', nn: 'nb', iw: 'he', in: 'id' }

const fallback = 'en'

/** 35: the longest tag that RFC 5646 wants everybody to handle. */
const tagLengthMax = 35
/** 20: browsers send fewer; the rest of a longer list is not read. */
const wishesMax = 20
/** 1,000: enough for every tag that browsers send. Made-up tags only make the cache start again. */
const rememberedMax = 1_000
/** 10: a tag has one parameter, its weight. */
const partsMax = 10
const byTag = new Map<string, Language | undefined>()

const makeLanguage = (tag: string, locale: string): Language | undefined => {
  const texts = readTexts(tag)
  if (texts === undefined) return undefined
  const direction = rightToLeft.has(tag.split('-')[0] ?? '') ? 'rtl' : 'ltr'
  return { tag, locale, direction, texts }
}

function parseLocale(tag: string): Intl.Locale | undefined {
  try {
    return new Intl.Locale(tag)
  } catch {
    // Not a language tag: browsers and shops may send anything.
    return undefined
  }
}

function lookUp(tag: string): Language | undefined {
  const locale = parseLocale(tag)
  if (locale === undefined) return undefined
  const base = renamed[locale.language] ?? locale.language
  // Only as it was given: the likely region of "pt" would bring the numbers of another country.
  const region = locale.region === undefined ? '' : `-${locale.region}`
  const written = `${base}-${locale.maximize().script ?? ''}`
  // Without extensions: they could bring other digits or calendars than the texts are written for.
  return makeLanguage(written, `${written}${region}`) ?? makeLanguage(base, `${base}${region}`)
}

/** Undefined for a language without texts. */
export function findLanguage(tag: string): Language | undefined {
  if (tag.length > tagLengthMax) return undefined
  if (byTag.has(tag)) return byTag.get(tag)
  if (byTag.size >= rememberedMax) byTag.clear()
  const found = lookUp(tag)
  byTag.set(tag, found)
  return found
}

/** The languages of an Accept-Language header, the preferred first; no weight means 1, and 0 means never. */
function listWishes(header: string): readonly string[] {
  const wishes = header
    .split(',', wishesMax)
    .map(entry => {
      // Cut at the semicolons first and trimmed part by part: white space in a pattern beside them would be tried at
      // every length, and a header full of it would block the process.
      const [tag = '', ...parameters] = entry.split(';', partsMax).map(part => part.trim())
      const weight = parameters.find(parameter => /^q=/i.test(parameter))?.slice(2)
      return { tag, weight: weight === undefined ? 1 : Number(weight) }
    })
    .filter(({ tag, weight }) => tag !== '' && weight > 0)
  return wishes.sort((a, b) => b.weight - a.weight).map(({ tag }) => tag)
}

const english: Language = findLanguage(fallback) ?? {
  tag: fallback,
  locale: fallback,
  direction: 'ltr',
  texts: en,
}

/** `wanted` is the payment's own `language`; `accepted` the browser's Accept-Language. */
export function chooseLanguage(wanted: string | undefined, accepted: string | undefined): Language {
  const own = wanted === undefined ? undefined : findLanguage(wanted)
  if (own !== undefined) return own
  for (const tag of listWishes(accepted ?? '')) {
    const found = findLanguage(tag)
    if (found !== undefined) return found
  }
  return english
}
