/** Renders docs/response-codes.md from the one table of codes. */
import {
  adviceMeanings,
  cancelledCode,
  declineCode,
  describe,
  listModules,
  listProviderCodes,
  listResponseCodes,
  providerText,
  type Speaker,
  timedOutCode,
} from '#domain/response-codes.ts'

const kinds: readonly (readonly [digit: string, meaning: string])[] = [
  ['0', 'success'],
  ['2', 'refused by us, or declined by the provider'],
  ['4', 'something broke'],
  ['6', 'outstanding'],
  ['7', 'a step of 3-D Secure'],
]

const nameSource = (speaker: Speaker): string =>
  speaker === 'none' ? 'no method chosen yet' : speaker.replaceAll('_', ' ')

const modules = listModules()
const patterned = new Set(
  modules.flatMap(({ speakers: [speaker = 'none'] }) => [
    ...listProviderCodes().map(nn => declineCode(speaker, nn)),
    timedOutCode(speaker),
    cancelledCode(speaker),
  ]),
)

const fixedRows = listResponseCodes()
  .filter(({ code }) => !patterned.has(code))
  .map(({ code, description, advice }) => `| \`${code}\` | ${description} | ${advice} |`)

const codesOf = (detail: string): string => modules.map(({ module }) => `\`2${module}${detail}\``).join(' ')

const declineRows = listProviderCodes().map(nn => {
  const byCard = describe(declineCode('card', nn)).advice
  const otherwise = describe(declineCode('none', nn)).advice
  const advice = byCard === otherwise ? byCard : `${byCard}; ${otherwise} where it was no card`
  return `| ${nn} | ${providerText(nn)} | ${advice} | ${codesOf(`03${nn}`)} |`
})

const endRows = ['0402', '0703'].map(detail => {
  const { description, advice } = describe(`2100${detail}`)
  return `| ${detail} | ${description} | ${advice} | ${codesOf(detail)} |`
})

export const renderResponseCodePage = (): string => `# Response codes

Generated from \`src/domain/response-codes.ts\` by \`npm run generate\`. Every \`responseCode\` has eight digits, \`N MMM DDDD\`:
kind, module and detail. The same list, for machines, is in \`GET /test/catalogue\`.

| N | kind |
|---|---|
${kinds.map(([digit, meaning]) => `| ${digit} | ${meaning} |`).join('\n')}

| MMM | whose payment, or which part of the gateway |
|---|---|
${modules.map(({ module, speakers }) => `| ${module} | ${speakers.map(nameSource).join(', ')} |`).join('\n')}

A module below 100 is the gateway's own refusal: 010 missing, 011 wrong format, 012 invalid, 013 too short, 014 too long, 016
not allowed, 017 there already, 018 expired, 020 against the rules of a payment's life. What a body lacks or has wrong is
answered by 400 with the field's name and needs no code.

## What to do

| advice | meaning |
|---|---|
${Object.entries(adviceMeanings)
  .map(([advice, meaning]) => `| ${advice} | ${meaning} |`)
  .join('\n')}

## Codes that do not depend on the method

| code | meaning | advice |
|---|---|---|
${fixedRows.join('\n')}

## Declines

The provider's two digits (field 39 of ISO 8583) end the code, and are \`providerResponseCode\` of the method's object. Digits
outside this list decline as well; the advice is then to stop.

| NN | meaning | advice | codes |
|---|---|---|---|
${declineRows.join('\n')}

## How a payment can end otherwise

| DDDD | meaning | advice | codes |
|---|---|---|---|
${endRows.join('\n')}
`
