/**
 * Options of `merchant set` for a merchant's pages: the methods and currencies they offer, their look, and who may
 * frame them.
 */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { isWebAddress, normalizeAddress } from '#domain/text.ts'
import { explainUnknownType } from '#methods/nearest-types.ts'
// Imports the rows themselves and not the catalogue, which loads all schemas: help would take four times as long.
import { rows } from '#methods/rows.ts'
import { parseColour } from '#pages/views/colour.ts'
import { carriesText, fontNames } from '#pages/views/theme.ts'
import type { MerchantSettings } from '#storage/merchants.ts'

/** Removes a setting; the command line has no null. */
const none = 'none'

/** 50: the column's limit, far above the number of sites that one shop has. */
const originsMax = 50
/** 2048: the contract's limit for every address. */
const urlMax = 2_048

type Given<T> = T | typeof none

export interface PageOptions {
  readonly methods?: Given<readonly string[]>
  readonly themeAccent?: string
  readonly themeLogo?: string
  readonly themeBackground?: string
  readonly themeFont?: string
  readonly frameOrigins?: Given<readonly string[]>
  readonly dcc?: 'on' | 'off'
}

export function addPageOptions(command: Command): Command {
  return command
    .option(
      '--methods <types>',
      'methods it takes, separated by commas, in the order of its pages; none: the whole catalogue',
      parseMethods,
    )
    .option('--theme-accent <colour>', 'colour of buttons and links, as #0b5fff; none: ours', parseAccent)
    .option(
      '--theme-background <colour>',
      'colour behind the order in light mode; none: ours',
      parseBackground,
    )
    .option('--theme-logo <url>', "an https address; none: the merchant's name", parseLogo)
    .option('--theme-font <name>', `${fontNames.join(', ')}; none: system`, parseFont)
    .option(
      '--frame-origins <origins>',
      'sites that may show its pages in a frame, separated by commas; none: nobody',
      parseOrigins,
    )
    .addOption(
      new Option('--dcc <switch>', 'whether its pages offer to pay in the currency of the card').choices([
        'on',
        'off',
      ]),
    )
}

const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): Given<T> =>
    text === none ? none : parse(text)

const splitList = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(',')
      .map(part => part.trim())
      .filter(part => part !== ''),
  ),
]

const parseMethods = orNone(text => {
  const types = splitList(text)
  if (types.length === 0) throw new InvalidArgumentError('It must name at least one method, or none.')
  const known = rows.map(({ type }) => type)
  const unknown = types.find(type => !known.includes(type))
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`One ${explainUnknownType(unknown, known)}`)
  }
  return types
})

const parseAccent = orNone(text => {
  if (parseColour(text) !== undefined) return text.toLowerCase()
  throw new InvalidArgumentError('It must be a colour such as #0b5fff, or none.')
})

const parseBackground = orNone(text => {
  const colour = parseAccent(text)
  if (carriesText(colour)) return colour
  throw new InvalidArgumentError('It must be light enough for grey text to be read on it (4.5 : 1), or none.')
})

const parseLogo = orNone(text => {
  if (text.length <= urlMax && isWebAddress(text) && text.startsWith('https://'))
    return normalizeAddress(text)
  throw new InvalidArgumentError(`It must be an https address of at most ${urlMax} characters, or none.`)
})

const parseFont = orNone(text => {
  if (fontNames.some(name => name === text)) return text
  throw new InvalidArgumentError(`It must be one of ${fontNames.join(', ')}, or none.`)
})

/** Plain http for loopback only, where people try things out. */
const isFrameOrigin = (text: string): boolean =>
  isWebAddress(text) &&
  new URL(text).origin === text &&
  (text.startsWith('https:') || /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(text))

const parseOrigins = orNone(text => {
  const origins = splitList(text)
  const wrong = origins.find(origin => !isFrameOrigin(origin))
  if (origins.length >= 1 && origins.length <= originsMax && wrong === undefined) return origins
  throw new InvalidArgumentError(
    `It must be 1 to ${originsMax} origins such as https://shop.example, without a path, or none.`,
  )
})

/** The comparison with `none` does not narrow a type parameter. */
const orNull = <T>(given: Given<T>): T | null => (given === none ? null : (given as T))

export interface PageChange {
  readonly methods?: readonly string[] | null
  readonly theme?: MerchantSettings['theme']
  readonly frameOrigins?: readonly string[] | null
  readonly dcc?: boolean
}

/** Only the given options change. The store merges the parts of the theme, because others may change it at the same moment. */
export function toPageChange(options: PageOptions): PageChange {
  const { methods, frameOrigins, dcc, themeAccent, themeBackground, themeLogo, themeFont } = options
  const given = { accent: themeAccent, background: themeBackground, logoUrl: themeLogo, font: themeFont }
  const parts = Object.entries(given).filter(([, value]) => value !== undefined)
  const theme = Object.fromEntries(parts.map(([name, value]) => [name, value === none ? null : value]))
  return {
    ...(methods === undefined ? {} : { methods: orNull(methods) }),
    ...(parts.length === 0 ? {} : { theme }),
    ...(frameOrigins === undefined ? {} : { frameOrigins: orNull(frameOrigins) }),
    ...(dcc === undefined ? {} : { dcc: dcc === 'on' }),
  }
}
