/** All languages of the hosted pages. Adding one is a file beside this and a line below. */
import { ar } from '#pages/texts/ar.ts'
import { bg } from '#pages/texts/bg.ts'
import { cs } from '#pages/texts/cs.ts'
import { da } from '#pages/texts/da.ts'
import { de } from '#pages/texts/de.ts'
import { el } from '#pages/texts/el.ts'
import { en, type Texts } from '#pages/texts/en.ts'
import { es } from '#pages/texts/es.ts'
import { fa } from '#pages/texts/fa.ts'
import { fi } from '#pages/texts/fi.ts'
import { fr } from '#pages/texts/fr.ts'
import { he } from '#pages/texts/he.ts'
import { hr } from '#pages/texts/hr.ts'
import { hu } from '#pages/texts/hu.ts'
import { it } from '#pages/texts/it.ts'
import { nb } from '#pages/texts/nb.ts'
import { nl } from '#pages/texts/nl.ts'
import { pl } from '#pages/texts/pl.ts'
import { pt } from '#pages/texts/pt.ts'
import { ro } from '#pages/texts/ro.ts'
import { ru } from '#pages/texts/ru.ts'
import { sk } from '#pages/texts/sk.ts'
import { sl } from '#pages/texts/sl.ts'
import { sv } from '#pages/texts/sv.ts'
import { tr } from '#pages/texts/tr.ts'
import { uk } from '#pages/texts/uk.ts'

/** By BCP 47 tag. The first is spoken when nothing else fits. */
export const textsByTag = {
  en,
  ar,
  bg,
  cs,
  da,
  de,
  el,
  es,
  fa,
  fi,
  fr,
  he,
  hr,
  hu,
  it,
  nb,
  nl,
  pl,
  pt,
  ro,
  ru,
  sk,
  sl,
  sv,
  tr,
  uk,
} as const satisfies Readonly<Record<string, Texts>>
