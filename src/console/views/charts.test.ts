/** Charts keep a place for what is empty, and labels can never become markup. */
import { expect, test } from 'vitest'
import { renderBars, renderShares } from '#console/views/charts.ts'

test('a day without payments keeps its place among the bars', () => {
  const bars = ['a', 'b', 'c'].map((label, index) => ({ label, value: index === 1 ? 0 : 5, title: label }))
  const { text } = renderBars(bars, 'Captured per day')
  expect(text.match(/<rect /g)).toHaveLength(3)
  expect(text.match(/class="none"/g)).toHaveLength(1)
})

test('bars of nothing at all are drawn without dividing by nothing', () => {
  expect(renderBars([{ label: 'a', value: 0, title: 'a' }], 'Empty').text).not.toContain('NaN')
})

test('labels are escaped', () => {
  expect(renderShares([{ label: '<b>', share: 0.5 }], 'Rates').text).toContain('&lt;b&gt;')
})
