import { expect, test } from 'vitest'
import {
  isEmail,
  isLanguageTag,
  isPrintable,
  isStorable,
  isWebAddress,
  toStatementText,
} from '#domain/text.ts'

test.each([
  ['plain', true],
  ['línea\n\u{1f600}', true],
  ['a\u0000b', false],
  ['\ud800', false],
  ['\udc00\ud800', false],
])('%j is storable: %s', (text, is) => expect(isStorable(text)).toBe(is))

test.each([
  ['order 1/2 #3', true],
  ['Bestellung-äöü-注文', true],
  ['', true],
  ['a\tb', false],
  ['a\nb', false],
  ['a\u007fb', false],
  ['a\u202eb', false],
  ['a\u2028b', false],
  ['\ud800', false],
])('%j is printable: %s', (text, is) => expect(isPrintable(text)).toBe(is))

test.each([
  ['ada@example.com', true],
  ["o'brien+tag@mail.example.co.uk", true],
  ['用户@例子.广告', true],
  ['a@b.c', true],
  ['ada@example', false],
  ['ada.example.com', false],
  ['@example.com', false],
  ['ada@', false],
  ['ada @example.com', false],
  ['ada@exam ple.com', false],
  ['.ada@example.com', false],
  ['a..b@example.com', false],
  ['ada.@example.com', false],
  ['ada@-example.com', false],
  ['ada@example..com', false],
  ['a@b@example.com', false],
  ['ada@example.com\n', false],
  [`${'a'.repeat(64)}@example.com`, true],
  [`${'a'.repeat(65)}@example.com`, false],
  ['', false],
])('%j is an email address: %s', (text, is) => expect(isEmail(text)).toBe(is))

test.each([
  ['https://shop.example/return?x=1#y', true],
  ['http://127.0.0.1:8080/hook', true],
  ['HTTPS://EXAMPLE.COM', true],
  ['https://[::1]/a', true],
  ['https://bücher.example/ü', true],
  ['https://example.com/a@b', true],
  ['https://example.com?mail=a@b', true],
  ['https://user:pass@example.com/', false],
  ['https://user@example.com/', false],
  ['http://@example.com/', false],
  ['https://good.example\\@evil.example/', false],
  ['ftp://example.com', false],
  ['javascript:alert(1)', false],
  ['//example.com', false],
  ['/return', false],
  ['https://', false],
  ['https:///path', false],
  ['https://exa mple.com', false],
  [' https://example.com', false],
  ['https://example.com\n', false],
  ['https://example.com:99999/', false],
  ['https://x;frame-ancestors/', false],
  ["https://x'unsafe-inline'/", false],
  ['https://x,y/', false],
  ['https://shop_1.example/', false],
  ['https://x.example:8443/', true],
  [`https://x.example/${'a'.repeat(2_030)}`, true],
  [`https://x.example/${'a'.repeat(2_031)}`, false],
  [`https://x.example/${'é'.repeat(338)}`, true],
  [`https://x.example/${'é'.repeat(339)}`, false],
  ['', false],
])('%j is a web address: %s', (text, is) => expect(isWebAddress(text)).toBe(is))

test.each([
  ['de', true],
  ['en-GB', true],
  ['zh-Hant-TW', true],
  ['es-419', true],
  ['en_GB', false],
  ['e', false],
  ['', false],
  ['de-', false],
  ['englisch sprache', false],
])('%j is a language tag: %s', (text, is) => expect(isLanguageTag(text)).toBe(is))

test.each([
  ['Müller & Söhne', 'Muller & Sohne'],
  ['Smørrebrød  København', 'Smorrebrod Kobenhavn'],
  ['Łódź straße – café', 'Lodz strasse - cafe'],
  ["Bob's <Shop>", "Bob's Shop"],
  ['Joe<s>', 'Joes'],
  ['カフェ 24', '24'],
  ['🎁', undefined],
  [undefined, undefined],
  // Longer in plain letters than as it was written.
  ['ß'.repeat(12), 's'.repeat(22)],
])('%s is shown as %s', (descriptor, shown) => {
  expect(toStatementText(descriptor, /[<>]/g)).toBe(shown)
})
