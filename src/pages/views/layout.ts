/**
 * The shell around every hosted page: language, direction, merchant, theme, the two files it loads. Holds no word of any
 * one page, no inline script and no handler; the only inline style is the theme, named by its hash in the policy.
 */

import { fill, type Html, html, raw } from '#http/html.ts'
import type { Assets } from '#pages/assets.ts'
import type { Language } from '#pages/language.ts'
import { icon, iconSheet } from '#pages/views/icons.ts'
import { safeLogoUrl, styleTheme, type Theme } from '#pages/views/theme.ts'

/** What every page needs to know. */
export interface PageFrame {
  readonly language: Language
  readonly assets: Assets
  readonly isTest: boolean
  /** Absent if the address names no merchant. */
  readonly merchantName?: string | undefined
  readonly theme?: Theme | undefined
}

export interface PageContent {
  /** Of the browser's tab; the merchant's name follows. */
  readonly title: string
  readonly main: Html
  /** What is being paid, beside the main part; without it the page is one centred sheet. */
  readonly aside?: Html | undefined
  /** An address that opens by itself. */
  readonly opens?: string | undefined
}

/** A hidden field of a form, as the route wants it back. */
export interface HiddenField {
  readonly name: string
  readonly value: string
}

export const hiddenFields = (fields: readonly HiddenField[]): readonly Html[] =>
  fields.map(({ name, value }) => html`<input type="hidden" name="${name}" value="${value}">`)

const head = (frame: PageFrame, { title, opens }: Pick<PageContent, 'title' | 'opens'>): Html => {
  const { language, assets, merchantName, theme = {} } = frame
  const style = styleTheme(theme)
  return html`<!doctype html>
<html lang="${language.tag}" dir="${language.direction}">
<head>
<meta charset="utf-8">
<title>${merchantName === undefined ? title : `${title} · ${merchantName}`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
${
  opens !== undefined &&
  html`<meta http-equiv="refresh" content="0;url=${opens}">
`
}<link rel="icon" href="${assets.icon.url}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style.url}" integrity="${assets.style.integrity}">
${style !== undefined && raw(`<style>${style.css}</style>`)}
<script type="module" src="${assets.script.url}" integrity="${assets.script.integrity}"></script>
</head>`
}

/** The merchant's logo, or their name in its place. */
export function renderBrand({ merchantName, theme = {} }: PageFrame): Html {
  if (merchantName === undefined) return html``
  const logo = safeLogoUrl(theme)
  if (logo !== undefined) {
    return html`<p class="brand"><img src="${logo}" alt="${merchantName}" height="36" referrerpolicy="no-referrer"></p>`
  }
  // The first grapheme, because a letter may consist of several code units.
  const initial = [...merchantName.trim()][0] ?? ''
  return html`<p class="brand"><span class="initial" aria-hidden="true">${initial}</span><bdi>${merchantName}</bdi></p>`
}

const testBanner = ({ language, isTest }: PageFrame): Html | false =>
  isTest &&
  html`<section class="test" aria-label="${language.texts.testBanner}">${icon('flask')}<span>${language.texts.testBanner}</span></section>`

/** Nothing but the main part, for a frame inside a shop's page, which has its own heading and its own button. */
export const renderBare = (frame: PageFrame, { title, main }: Pick<PageContent, 'title' | 'main'>): string =>
  html`${head(frame, { title })}
<body class="bare">
${iconSheet}
<main id="main" tabindex="-1"><h1 class="unseen">${title}</h1>${main}</main>
</body>
</html>`.text

export function renderPage(frame: PageFrame, { title, main, aside, opens }: PageContent): string {
  const { texts } = frame.language
  const footer = html`<footer class="foot">${icon('lock')}<span>${texts.securePayment}</span></footer>`
  const body =
    aside === undefined
      ? html`<div class="single"><header>${renderBrand(frame)}</header><main id="main" class="sheet-box" tabindex="-1">${main}</main>${footer}</div>`
      : html`<div class="split"><aside class="side" aria-label="${texts.orderSummary}"><div class="side-in">${renderBrand(frame)}${aside}</div></aside><div class="work"><div class="work-in"><main id="main" tabindex="-1">${main}</main>${footer}</div></div></div>`
  return html`${head(frame, { title, opens })}
<body>
${iconSheet}
<a class="skip" href="#main">${texts.skipToContent}</a>
${testBanner(frame)}
${body}
</body>
</html>`.text
}

/** The sentence with the merchant's name; it is left out if the merchant is unknown. */
export const withMerchant = ({ merchantName }: PageFrame, text: string): string =>
  merchantName === undefined && text.includes('{merchant}')
    ? ''
    : fill(text, { merchant: merchantName ?? '' })
