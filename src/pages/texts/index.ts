/** All languages of the hosted pages. Adding one is a file beside this and a line below. */
import { en, type Texts } from '#pages/texts/en.ts'

/** By BCP 47 tag. The first is spoken when nothing else fits. */
export const textsByTag = { en } as const satisfies Readonly<Record<string, Texts>>
