/** What the start prints: only lines that work. */
import { expect, test } from 'vitest'
import { renderBanner } from '#commands/serve/banner.ts'

const facts = {
  environment: 'test',
  origin: 'http://127.0.0.1:8080',
  place: '/data',
  year: 2026,
} as const

test('the first payment to paste signs in as the demo merchant', () => {
  const demo = { merchantId: 'mer_1', apiKey: 'tg_test_1', webhookSecret: 'whsec_1' }
  const banner = renderBanner({ ...facts, demo })
  expect(banner).toContain('API key: tg_test_1\nwebhook secret: whsec_1\n')
  expect(banner).toContain('-u mer_1:tg_test_1 ')
})

test('after a restore, where no secret of the demo merchant is known, nothing to paste lacks its key', () => {
  const demo = { merchantId: 'mer_1', apiKey: '', webhookSecret: '' }
  const banner = renderBanner({ ...facts, demo })
  expect(banner).toMatch(/^API key: \(not in the backup; .* key rotate mer_1\)$/m)
  expect(banner).toMatch(/^webhook secret: \(not in the backup; .* webhook-secret rotate mer_1\)$/m)
  expect(banner).not.toContain('curl')
})
