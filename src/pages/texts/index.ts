/** All languages of the hosted pages. Adding one is a file beside this and a line below. */
import { ar } from '#pages/texts/ar.ts'
import { bg } from '#pages/texts/bg.ts'
import { ca } from '#pages/texts/ca.ts'
import { cs } from '#pages/texts/cs.ts'
import { da } from '#pages/texts/da.ts'
import { de } from '#pages/texts/de.ts'
import { el } from '#pages/texts/el.ts'
import { en, type Texts } from '#pages/texts/en.ts'
import { es } from '#pages/texts/es.ts'
import { et } from '#pages/texts/et.ts'
import { fa } from '#pages/texts/fa.ts'
import { fi } from '#pages/texts/fi.ts'
import { fr } from '#pages/texts/fr.ts'
import { he } from '#pages/texts/he.ts'
import { hi } from '#pages/texts/hi.ts'
import { hr } from '#pages/texts/hr.ts'
import { hu } from '#pages/texts/hu.ts'
import { id } from '#pages/texts/id.ts'
import { it } from '#pages/texts/it.ts'
import { ja } from '#pages/texts/ja.ts'
import { ko } from '#pages/texts/ko.ts'
import { lt } from '#pages/texts/lt.ts'
import { lv } from '#pages/texts/lv.ts'
import { ms } from '#pages/texts/ms.ts'
import { nb } from '#pages/texts/nb.ts'
import { nl } from '#pages/texts/nl.ts'
import { pl } from '#pages/texts/pl.ts'
import { pt } from '#pages/texts/pt.ts'
import { ro } from '#pages/texts/ro.ts'
import { ru } from '#pages/texts/ru.ts'
import { sk } from '#pages/texts/sk.ts'
import { sl } from '#pages/texts/sl.ts'
import { sv } from '#pages/texts/sv.ts'
import { th } from '#pages/texts/th.ts'
import { tr } from '#pages/texts/tr.ts'
import { uk } from '#pages/texts/uk.ts'
import { vi } from '#pages/texts/vi.ts'
import { zhHans } from '#pages/texts/zh-hans.ts'
import { zhHant } from '#pages/texts/zh-hant.ts'

/** By BCP 47 tag. The first is spoken when nothing else fits. */
export const textsByTag = {
  en,
  ar,
  bg,
  ca,
  cs,
  da,
  de,
  el,
  es,
  et,
  fa,
  fi,
  fr,
  he,
  hi,
  hr,
  hu,
  id,
  it,
  ja,
  ko,
  lt,
  lv,
  ms,
  nb,
  nl,
  pl,
  pt,
  ro,
  ru,
  sk,
  sl,
  sv,
  th,
  tr,
  uk,
  vi,
  'zh-Hans': zhHans,
  'zh-Hant': zhHant,
} as const satisfies Readonly<Record<string, Texts>>
