/** The pure half of the hosted pages: languages, amounts, colours, headers, and what views must never say. */
import { describe, expect, test } from 'vitest'
import { currencies } from '#domain/money/currencies.ts'
import { toLink } from '#pages/address.ts'
import { describeInventory, loadAssets } from '#pages/assets.ts'
import { chooseLanguage } from '#pages/language.ts'
import { formatDay, formatDecimal, formatMoment, formatMoney, formatPercentage } from '#pages/money-text.ts'
import { summarizeOrder } from '#pages/order-lines.ts'
import { securityHeaders } from '#pages/security-headers.ts'
import { explainDecline } from '#pages/show.ts'
import { en } from '#pages/texts/en.ts'
import { languageTags, readTexts } from '#pages/texts/index.ts'
import { contrast, inkOn, makeReadable, parseColour, toHex } from '#pages/views/colour.ts'
import { logoOrigin, safeLogoUrl, styleTheme } from '#pages/views/theme.ts'

/** Locale data puts spaces that do not break between number and currency. */
const plain = (text: string): string => text.replace(/[\u00a0\u202f]/g, ' ')

describe('texts', () => {
  const marks = (text: string): string[] => (text.match(/\{[a-z]+\}/gi) ?? []).sort()

  test.each(languageTags)('%s says everything, with the same marks', tag => {
    const texts = readTexts(tag) ?? expect.fail(`no texts of ${tag}`)
    expect(texts === en).toBe(tag === 'en')
    expect(Object.keys(texts).sort()).toEqual(Object.keys(en).sort())
    const wrong = Object.entries(en)
      .filter(([key, text]) => {
        const own: string = texts[key as keyof typeof en]
        return own.trim() === '' || new Set(marks(own)).symmetricDifference(new Set(marks(text))).size > 0
      })
      .map(([key]) => key)
    expect(wrong).toEqual([])
  })

  /** Words for "every" that want the plural or another case or gender than the "1 month" of Intl that follows. */
  const every =
    / (every|ogni|cada|fiecare|alle|tous les|svakih|vsakih|každé|каждые|кожні|на всеки|κάθε|kas|ik pēc|iga|välein|varje|hver|elke|हर)$/u

  test('the interval of a plan has a name that fits one day, week, month and year', () => {
    const labels = languageTags.map(tag => `${tag}: ${readTexts(tag)?.planInterval}`)
    expect(labels.filter(label => every.test(label))).toEqual([])
  })

  test('tags are written as BCP 47 writes them', () => {
    expect(languageTags.map(tag => Intl.getCanonicalLocales(tag)[0])).toEqual(languageTags)
  })
})

describe('chooseLanguage', () => {
  test.each(
    [
      `a${' '.repeat(400_000)}b`,
      `de${' ;'.repeat(200_000)}`,
      `x;${'q=1;'.repeat(100_000)}`,
      ' '.repeat(400_000),
    ].map(header => ({ header })),
  )('a header of half a megabyte is read in one go', ({ header }) => {
    expect(chooseLanguage(undefined, header).tag).toMatch(/^(en|de)$/)
  })

  test.each([
    ['en-GB', undefined, 'en', 'en-GB'],
    [undefined, 'en-AU,en;q=0.9', 'en', 'en-AU'],
    [undefined, 'xx, en;q=0', 'en', 'en'],
    [undefined, undefined, 'en', 'en'],
    ['not a tag', '*', 'en', 'en'],
    ['en-u-nu-arab', undefined, 'en', 'en'],
    [undefined, `${'x'.repeat(5000)},en-NZ`, 'en', 'en-NZ'],
    ['constructor', '__proto__', 'en', 'en'],
  ])('%s and %s', (wanted, accepted, tag, locale) => {
    expect(chooseLanguage(wanted, accepted)).toMatchObject({ tag, locale, direction: 'ltr' })
  })
})

describe('money', () => {
  test.each([
    [1234, 'EUR', 'de', '12,34 €'],
    [1234, 'EUR', 'en-GB', '€12.34'],
    [1234, 'JPY', 'ja', '￥1,234'],
    [1234, 'KWD', 'en', 'KWD 1.234'],
    [12345, 'CLF', 'en', 'CLF 1.2345'],
    // The run time would show these without decimals; ISO counts two.
    [123400, 'HUF', 'en', 'HUF 1,234.00'],
    [123456, 'IDR', 'en', 'IDR 1,234.56'],
    [5, 'EUR', 'en', '€0.05'],
    [-550, 'EUR', 'en', '-€5.50'],
    [999_999_999_999, 'EUR', 'en', '€9,999,999,999.99'],
  ])('%d %s in %s', (value, currency, locale, expected) => {
    expect(plain(formatMoney({ value, currency }, locale))).toBe(expected)
  })

  test.each([
    [4999, 'USD', 'ar', '\u200f49.99\u00a0US$\u200e'],
    [-4999, 'BRL', 'ar', '\u200f\u200e-49.99\u00a0R$\u200e'],
    [4999, 'BRL', 'he', '\u200f49.99\u00a0\u200fR$\u200e'],
    [4999, 'GBP', 'ar', '\u200f49.99\u00a0UK£\u200e'],
    [4999, 'JPY', 'ar', '\u200f4,999\u00a0JP¥\u200e'],
    [4999, 'EUR', 'ar', '\u200f49.99\u00a0€'],
    [4999, 'USD', 'fr', '49,99\u00a0$US'],
  ])('%d %s in %s keeps the sign of its currency behind the letters', (value, currency, locale, expected) => {
    expect(formatMoney({ value, currency }, locale)).toBe(expected)
  })

  test('every currency shows as many decimals as it has', () => {
    const wrong = currencies.filter(({ code, exponent }) => {
      const shown = formatMoney({ value: 1, currency: code }, 'en').match(/\d+(?:\.(\d+))?/)
      return (shown?.[1]?.length ?? 0) !== exponent
    })
    expect(wrong).toEqual([])
  })

  test('fractions and unknown currencies are faults', () => {
    expect(() => formatMoney({ value: 1.5, currency: 'EUR' }, 'en')).toThrow()
    expect(() => formatMoney({ value: 1, currency: 'XXX' }, 'en')).toThrow()
  })

  test('rates, percentages and days are written as the language writes them', () => {
    expect(formatDecimal('1.143339', 'de')).toBe('1,143339')
    expect(plain(formatPercentage('3.00', 'de'))).toBe('3,00 %')
    expect(formatDay('2027-01-15', 'en-GB')).toBe('15 January 2027')
    // Thai and Persian locales count years from elsewhere by themselves.
    expect(formatDay('2027-01-15', 'th')).toContain('2027')
    expect(formatMoment('2027-01-15T07:00:00Z', 'fa')).toMatch(/۲۰۲۷.*UTC/)
  })
})

describe('colours', () => {
  const surface = parseColour('#f4f5f7') ?? [0, 0, 0]
  test.each(['#000000', '#ffffff', '#ffe600', '#00a3ff', '#0a6b5d', '#777777'])(
    '%s becomes readable',
    text => {
      const colour = parseColour(text) ?? [0, 0, 0]
      const readable = makeReadable(colour, surface)
      expect(contrast(readable, surface)).toBeGreaterThanOrEqual(4.5)
      expect(contrast(readable, inkOn(readable))).toBeGreaterThanOrEqual(4.5)
    },
  )

  test('what reads well stays as it is', () => {
    expect(toHex(makeReadable(parseColour('#0a6b5d') ?? [0, 0, 0], surface))).toBe('#0a6b5d')
  })

  test.each(['red', '#fff', '#0a6b5d;}', 'url(x)', '#0a6b5g', ''])('%s is not accepted as a colour', text => {
    expect(parseColour(text)).toBeUndefined()
    expect(styleTheme({ accent: text, background: text })).toBeUndefined()
  })

  test('a background that secondary text cannot be read on is left out', () => {
    expect(styleTheme({ background: '#222222' })).toBeUndefined()
    expect(styleTheme({ background: '#fff8ee' })?.css).toContain('--tint:#fff8ee')
  })
})

describe('the merchant’s logo', () => {
  test.each([
    ['https://shop.example/logo.png', 'https://shop.example', true],
    ['/logos/1.svg', undefined, true],
    ['//evil.example/x.png', undefined, false],
    ['/\\evil.example/x.png', undefined, false],
    ['http://shop.example/logo.png', undefined, false],
    ['data:image/png;base64,AA', undefined, false],
    ['javascript:alert(1)', undefined, false],
  ])('%s', (logoUrl, origin, isShown) => {
    expect(logoOrigin({ logoUrl })).toBe(origin)
    expect(safeLogoUrl({ logoUrl }) !== undefined).toBe(isShown)
  })
})

describe('headers of pages', () => {
  const policy = (options: Partial<Parameters<typeof securityHeaders>[0]>): string =>
    securityHeaders({ tls: false, ...options })['content-security-policy'] ?? ''

  test('the content security policy allows nothing that a page does not need', () => {
    expect(policy({})).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; " +
        'report-uri /pay/csp-reports; report-to csp',
    )
    expect(securityHeaders({ tls: false })).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex, nofollow',
      'x-frame-options': 'DENY',
    })
  })

  test('only what the payment names is added, and nothing can be smuggled in', () => {
    const text = policy({
      formActions: [
        'https://shop.example/a;b?c=1',
        "https://shop.example/x'; script-src *",
        'myapp://done',
        'javascript:alert(1)',
        'nonsense',
      ],
      frameAncestors: ['https://frame.example/x', '*'],
      theme: { accent: '#aa0000', logoUrl: 'https://img.example/logo.png' },
    })
    expect(text).toContain("form-action 'self' https://shop.example myapp:;")
    expect(text).toContain('frame-ancestors https://frame.example;')
    expect(text).toContain("img-src 'self' https://img.example;")
    expect(text).toMatch(/style-src 'self' 'sha256-[A-Za-z0-9+/=]{44}';/)
    expect(text).not.toMatch(/unsafe|\*|javascript/)
  })

  test.each([
    [true, 'max-age=31536000'],
    [false, undefined],
  ])('with TLS %s', (tls, expected) => {
    expect(securityHeaders({ tls })['strict-transport-security']).toBe(expected)
  })
})

describe('addresses of pages', () => {
  test.each([
    ['https://shop.example/', true],
    ['myapp://paid', true],
    ['/pay/again', true],
    ['//evil.example', false],
    ['javascript:alert(1)', false],
    ['JavaScript:alert(1)', false],
    ['data:text/html,x', false],
    ['nothing', false],
  ])('%s', (address, isLink) => {
    expect(toLink(address) !== undefined).toBe(isLink)
  })
})

describe('files that pages load', () => {
  test('the inventory names both files with the hash that the page names', () => {
    const assets = loadAssets('/pay/assets')
    const { files } = describeInventory(assets)
    expect(files.map(({ kind, integrity, url }) => ({ kind, integrity, url }))).toEqual([
      { kind: 'script', integrity: assets.script.integrity, url: assets.script.url },
      { kind: 'stylesheet', integrity: assets.style.integrity, url: assets.style.url },
    ])
    expect(assets.byUrl.get(assets.script.url)?.body.toString()).not.toMatch(/^(import|export) /m)
  })
})

describe('summarizeOrder', () => {
  const amount = { value: 1500, currency: 'EUR' }
  const item = { name: 'A', quantity: 2, grossPrice: 500, taxAmount: 80 }

  test('sums are shown where they make up the amount', () => {
    const shipping = { name: 'Parcel', type: 'shipping_fee', grossPrice: 700 }
    const discount = { name: 'Minus', type: 'discount', grossPrice: -200 }
    expect(summarizeOrder(amount, { items: [item, shipping, discount] })).toMatchObject({
      subtotal: 1000,
      shipping: 700,
      discount: 200,
      tax: 160,
      isTaxIncluded: true,
      lines: [{ name: 'A', quantity: 2, total: 1000 }],
    })
  })

  test('sums that do not make up the amount are left out', () => {
    const summary = summarizeOrder(amount, { items: [item], description: 'Two' }, 'A link')
    expect(summary.subtotal).toBeUndefined()
    expect(summary.tax).toBeUndefined()
    expect(summary.descriptions).toEqual(['A link', 'Two'])
  })

  test('net prices add their tax', () => {
    const net = { name: 'A', netPrice: 1200, taxAmount: 300 }
    expect(summarizeOrder(amount, { items: [net] })).toMatchObject({
      tax: 300,
      isTaxIncluded: false,
      subtotal: 1200,
    })
  })
})

describe('explainDecline', () => {
  test.each([
    ['21000351', en.declinedFunds],
    ['21000354', en.declinedExpired],
    ['21000341', en.declined],
    ['21000343', en.declined],
    ['21000391', en.declinedUnreachable],
    ['21009999', en.declined],
  ])('%s', (code, text) => {
    expect(explainDecline(code, en)).toBe(text)
  })
})
