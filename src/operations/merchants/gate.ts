/**
 * Decides for which merchants background work may run. With several cells, it skips a merchant that is being moved, and
 * rows that a move has left behind in the old cell.
 */
import type { MerchantId } from '#domain/ids.ts'

/**
 * Returns undefined if the merchant is in another cell or being moved; the claim on its work expires by itself.
 * Otherwise returns a function to call when the work has ended.
 */
export type Gate = (merchantId: MerchantId) => (() => void) | undefined

const nothing = (): void => {}

/** For installations with a single cell. */
export const openGate: Gate = () => nothing
