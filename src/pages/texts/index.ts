/** All languages of the hosted pages. Adding one is a file beside this and a line below. */
import { createRequire } from 'node:module'
import { en, type Texts } from '#pages/texts/en.ts'

const require = createRequire(import.meta.url)

/**
 * By BCP 47 tag; the first is the default. A file is loaded when a page first needs its language: together they are
 * half a megabyte, of which most servers need little.
 */
const files = {
  en: () => ({ en }),
  ar: () => require('#pages/texts/ar.ts'),
  bg: () => require('#pages/texts/bg.ts'),
  ca: () => require('#pages/texts/ca.ts'),
  cs: () => require('#pages/texts/cs.ts'),
  da: () => require('#pages/texts/da.ts'),
  de: () => require('#pages/texts/de.ts'),
  el: () => require('#pages/texts/el.ts'),
  es: () => require('#pages/texts/es.ts'),
  et: () => require('#pages/texts/et.ts'),
  fa: () => require('#pages/texts/fa.ts'),
  fi: () => require('#pages/texts/fi.ts'),
  fr: () => require('#pages/texts/fr.ts'),
  he: () => require('#pages/texts/he.ts'),
  hi: () => require('#pages/texts/hi.ts'),
  hr: () => require('#pages/texts/hr.ts'),
  hu: () => require('#pages/texts/hu.ts'),
  id: () => require('#pages/texts/id.ts'),
  it: () => require('#pages/texts/it.ts'),
  ja: () => require('#pages/texts/ja.ts'),
  ko: () => require('#pages/texts/ko.ts'),
  lt: () => require('#pages/texts/lt.ts'),
  lv: () => require('#pages/texts/lv.ts'),
  ms: () => require('#pages/texts/ms.ts'),
  nb: () => require('#pages/texts/nb.ts'),
  nl: () => require('#pages/texts/nl.ts'),
  pl: () => require('#pages/texts/pl.ts'),
  pt: () => require('#pages/texts/pt.ts'),
  ro: () => require('#pages/texts/ro.ts'),
  ru: () => require('#pages/texts/ru.ts'),
  sk: () => require('#pages/texts/sk.ts'),
  sl: () => require('#pages/texts/sl.ts'),
  sv: () => require('#pages/texts/sv.ts'),
  th: () => require('#pages/texts/th.ts'),
  tr: () => require('#pages/texts/tr.ts'),
  uk: () => require('#pages/texts/uk.ts'),
  vi: () => require('#pages/texts/vi.ts'),
  'zh-Hans': () => require('#pages/texts/zh-hans.ts'),
  'zh-Hant': () => require('#pages/texts/zh-hant.ts'),
} as const satisfies Readonly<Record<string, () => Readonly<Record<string, Texts>>>>

export const languageTags: readonly string[] = Object.keys(files)

/** Undefined for a language without texts. */
export function readTexts(tag: string): Texts | undefined {
  const readers: Readonly<Record<string, () => Readonly<Record<string, Texts>>>> = files
  const file = Object.hasOwn(readers, tag) ? readers[tag]?.() : undefined
  return file && Object.values(file)[0]
}
