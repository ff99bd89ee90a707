/**
 * What a merchant may change about the pages: logo, colours, font. Values that would make them unreadable are corrected
 * or left out. The result is the text of a style element whose hash goes into the content security policy.
 */

import { createHash } from 'node:crypto'
import { keysOf } from '#domain/json.ts'
import { toSource } from '#pages/address.ts'
import {
  contrast,
  inkOn,
  makeReadable,
  parseColour,
  type Rgb,
  textContrast,
  toHex,
} from '#pages/views/colour.ts'

/** Fonts of the customer's device: none is loaded, so no font server can track customers. */
const fonts = {
  system: "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',sans-serif",
  humanist: "Seravek,'Gill Sans Nova',Ubuntu,Calibri,'DejaVu Sans',source-sans-pro,sans-serif",
  geometric: "Avenir,Montserrat,Corbel,'URW Gothic',source-sans-pro,sans-serif",
  rounded: "ui-rounded,'Hiragino Maru Gothic ProN',Quicksand,Comfortaa,Manjari,'Arial Rounded MT',sans-serif",
  serif: "'Iowan Old Style','Palatino Linotype','URW Palladio L',P052,serif",
  mono: "ui-monospace,'Cascadia Code',Menlo,Consolas,'DejaVu Sans Mono',monospace",
} as const

export type FontName = keyof typeof fonts
export const fontNames = keysOf(fonts)

export interface Theme {
  /** A path of our own origin or an https address; its origin must be in the policy's `img-src`. */
  readonly logoUrl?: string | undefined
  /** `#rrggbb`: buttons, links, what is chosen. */
  readonly accent?: string | undefined
  /** `#rrggbb`: behind the order summary, in light mode. */
  readonly background?: string | undefined
  readonly font?: FontName | undefined
}

export interface ThemeStyle {
  readonly css: string
  /** As a source of `style-src`. */
  readonly source: string
}

/** The background colours of browser/style/ for coloured text, the one with less contrast for each mode. */
const lightSurface: Rgb = [0xf4, 0xf5, 0xf7]
const darkSurface: Rgb = [0x1b, 0x20, 0x28]
/** The grey of secondary text in light mode: the faintest text that must be readable on a background. */
const muted: Rgb = [0x56, 0x5e, 0x6c]

const accentVariables = (accent: Rgb, surface: Rgb): string => {
  const readable = makeReadable(accent, surface)
  return `--accent:${toHex(readable)};--on-accent:${toHex(inkOn(readable))}`
}

/** Whether the faintest text of a page can be read on this colour. */
export function carriesText(background: string): boolean {
  const colour = parseColour(background)
  return colour !== undefined && contrast(colour, muted) >= textContrast
}

function lightVariables({ accent, background }: Theme): string {
  const variables: string[] = []
  const behind = parseColour(background ?? '')
  const carries = behind !== undefined && carriesText(background ?? '')
  if (behind !== undefined && carries) variables.push(`--tint:${toHex(behind)}`)
  const colour = parseColour(accent ?? '')
  if (colour !== undefined) {
    variables.push(accentVariables(colour, carries ? darker(behind, lightSurface) : lightSurface))
  }
  return variables.join(';')
}

const fontVariable = ({ font }: Theme): string =>
  font !== undefined && Object.hasOwn(fonts, font) ? `--font:${fonts[font]}` : ''

const darker = (one: Rgb | undefined, other: Rgb): Rgb =>
  one !== undefined && contrast(one, [0, 0, 0]) < contrast(other, [0, 0, 0]) ? one : other

function darkVariables({ accent }: Theme): string {
  const colour = parseColour(accent ?? '')
  return colour === undefined ? '' : accentVariables(colour, darkSurface)
}

/** 1,000 themes: one per merchant with open pages; beyond that the cache is cleared. */
const rememberedMax = 1_000
const remembered = new Map<string, ThemeStyle | undefined>()

const rule = (condition: string, variables: string): string => {
  if (variables === '') return ''
  return condition === '' ? `:root{${variables}}` : `@media ${condition}{:root{${variables}}}`
}

function makeStyle(theme: Theme): ThemeStyle | undefined {
  const css =
    rule('', fontVariable(theme)) +
    // Each mode has its own colours: those of one are not readable in the other. Paper is always light.
    rule('print,(prefers-color-scheme:light)', lightVariables(theme)) +
    rule('screen and (prefers-color-scheme:dark)', darkVariables(theme))
  if (css === '') return undefined
  return { css, source: `'sha256-${createHash('sha256').update(css).digest('base64')}'` }
}

/** Undefined for a merchant who has changed nothing that needs a style. */
export function styleTheme(theme: Theme): ThemeStyle | undefined {
  const key = `${theme.accent} ${theme.background} ${theme.font}`
  if (remembered.has(key)) return remembered.get(key)
  if (remembered.size >= rememberedMax) remembered.clear()
  const style = makeStyle(theme)
  remembered.set(key, style)
  return style
}

/**
 * The origin that `img-src` must allow for the logo; undefined for no logo, for our own origin, and for addresses that
 * are not https.
 */
export function logoOrigin({ logoUrl }: Theme): string | undefined {
  if (logoUrl === undefined || !URL.canParse(logoUrl)) return undefined
  return new URL(logoUrl).protocol === 'https:' ? toSource(logoUrl) : undefined
}

/** The address to put into the page, or undefined: only https and paths of our own origin are pictures here. */
export const safeLogoUrl = (theme: Theme): string | undefined =>
  logoOrigin(theme) !== undefined || /^\/[^/\\]/.test(theme.logoUrl ?? '') ? theme.logoUrl : undefined
