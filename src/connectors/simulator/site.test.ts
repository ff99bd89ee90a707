import { describe, expect, test } from 'vitest'
import { drawPage, pageAddress, readDecision } from '#connectors/simulator/site.ts'
import { siteTexts } from '#connectors/simulator/site-texts.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { languageTags } from '#pages/texts/index.ts'

const amount = { value: 1234, currency: 'EUR' }
const asked = { reference: xIdOf(1), amount, methodLabel: 'iDEAL $& {method}', language: 'en' }

describe('the texts', () => {
  test.each(languageTags)('%s has all texts of both pages, with the same placeholders', tag => {
    const { pageTitle, pageText, ...others } = siteTexts(tag)
    for (const text of [pageTitle, pageText]) expect(text.match(/\{[a-z]+\}/gi)).toEqual(['{method}'])
    for (const text of Object.values(others)) expect(text).toMatch(/^[^{}]+$/)
    if (tag !== 'en') expect(siteTexts(tag)).not.toEqual(siteTexts('en'))
  })

  test.each(['xx', '', '__proto__', 'constructor'])('%j falls back to English', tag => {
    expect(siteTexts(tag)).toEqual(siteTexts('en'))
  })
})

describe('a page', () => {
  test('shows the name of the method, even with special characters', () => {
    expect(drawPage({ ...asked, step: 'page' })).toMatchObject({
      title: 'Test page of iDEAL $& {method}',
      shows: ['merchant', 'amount', 'reference', 'instalments'],
    })
  })

  test('of the issuer names the bank and shows the card', () => {
    const page = drawPage({ ...asked, step: 'challenge' })
    expect([page.issuer, page.shows]).toEqual(['Test bank', ['merchant', 'amount', 'date', 'card']])
  })

  test('has the token of the return address in its path', () => {
    expect(pageAddress('https://pay.example/pay/return/abc')).toBe('/pay/step/abc')
  })

  test.each(['page', 'challenge', 'instructions'] as const)('%s: each button is read as its action', step => {
    const { buttons, hidden } = drawPage({ ...asked, step })
    const read = buttons.map(({ name, value }) =>
      readDecision({ query: {}, form: { ...hidden, [name]: value } }),
    )
    expect(read).toEqual(['approve', 'decline', 'cancel', 'pending'].map(action => ({ action, amount })))
  })

  test.each(['', 'APPROVE', 'constructor', undefined])('the action %j is no decision', action => {
    const form: Record<string, string> = action === undefined ? {} : { action }
    expect(readDecision({ query: {}, form })).toBeUndefined()
  })
})
