/** Crypto assets and the processors that take them. */
import type { Method } from '#methods/method.ts'
import { final, hosted, refunds, refundsWhole, toMethods } from '#methods/rows/row.ts'

export const crypto: readonly Method[] = toMethods(
  'crypto',
  { flow: 'qr', integration: hosted, terms: final },
  [
    ['BITCOIN', 'bitcoin', 'Bitcoin', '*', '*'],
    ['LIGHTNING', 'lightning', 'Bitcoin Lightning', '*', '*'],
    ['ETHEREUM', 'ethereum', 'Ethereum', '*', '*'],
    ['LITECOIN', 'litecoin', 'Litecoin', '*', '*'],
    ['SOLANA', 'solana', 'Solana', '*', '*'],
    ['USDC', 'usdc', 'USD Coin (USDC)', '*', '*'],
    ['USDT', 'usdt', 'Tether (USDT)', '*', '*'],
    ['BINANCEPAY', 'binancePay', 'Binance Pay', '*', '*', refunds],
    ['BITPAY', 'bitPay', 'BitPay', '*', '*', refunds],
    ['CRYPTOCOMPAY', 'cryptoComPay', 'Crypto.com Pay', '*', '*', refundsWhole],
    ['COINBASE', 'coinbase', 'Coinbase', '*', '*'],
    ['COINGATE', 'coinGate', 'CoinGate', '*', '*', refundsWhole],
  ],
)
