import { describe, expect, test } from 'vitest'
import { fill, html, raw } from '#http/html.ts'

describe('the html template', () => {
  const hostile = `<img src=x onerror="alert('1')">&amp;`
  test.each([
    ['between tags', html`<p>${hostile}</p>`],
    ['in an attribute', html`<p title="${hostile}"></p>`],
    ['in a list', html`<p>${[hostile, [hostile]]}</p>`],
  ])('escapes %s', (_, { text }) => {
    expect(text).not.toMatch(/<img|"alert|'1'|&amp;amp;amp;/)
    expect(text).toContain('&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;')
  })

  test('omits undefined values and keeps zero', () => {
    expect(html`<p>${undefined}${false}${0}${''}</p>`.text).toBe('<p>0</p>')
  })

  test('nests without escaping twice', () => {
    expect(html`<ul>${['a&b', 'c'].map(item => html`<li>${item}</li>`)}</ul>`.text).toBe(
      '<ul><li>a&amp;b</li><li>c</li></ul>',
    )
    expect(html`<p>${raw('<b>ours</b>')}</p>`.text).toBe('<p><b>ours</b></p>')
  })
})

describe('filling placeholders in a text', () => {
  test.each([
    ['Pay {amount}', { amount: '1 €' }, 'Pay 1 €'],
    ['{a} and {b} and {a}', { a: 'x', b: 'y' }, 'x and y and x'],
    ['{unknown} stays', {}, '{unknown} stays'],
    ['{toString} is no value', {}, '{toString} is no value'],
    ['{a}', { a: '{b}', b: 'not this' }, '{b}'],
    ['{a}', { a: '$&' }, '$&'],
  ])('%s', (text, values: Record<string, string>, expected) => {
    expect(fill(text, values)).toBe(expected)
  })
})
