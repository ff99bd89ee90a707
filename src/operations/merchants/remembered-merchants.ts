/**
 * A cache of merchants by id for code that needs one on every request. Entries live for a few seconds and are dropped
 * at once when this process changes a merchant; changes by other processes are seen when the entry expires.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'

export type FindMerchant = (merchantId: MerchantId) => Promise<Merchant | undefined>

/** 5 s: as long as a verified login is cached, so that every part of the gateway sees a change equally fast. */
const rememberedMs = 5_000

/** 10,000 merchants are a few megabytes; beyond that the cache is cleared. */
const rememberedMax = 10_000

export function rememberMerchants(
  find: FindMerchant,
  deps: {
    readonly nowMs: () => number
    readonly onChange: (listener: (merchantId: string) => void) => void
  },
): FindMerchant {
  const remembered = new Map<string, { merchant: Merchant; untilMs: number }>()
  let changes = 0
  deps.onChange(merchantId => {
    changes += 1
    remembered.delete(merchantId)
  })
  return async merchantId => {
    const known = remembered.get(merchantId)
    if (known && known.untilMs > deps.nowMs()) return known.merchant
    const changesBefore = changes
    const merchant = await find(merchantId)
    // A row that was read before a change must not be cached after it.
    if (merchant && changes === changesBefore) {
      if (remembered.size >= rememberedMax) remembered.clear()
      remembered.set(merchantId, { merchant, untilMs: deps.nowMs() + rememberedMs })
    }
    return merchant
  }
}
