import { describe, expect, test } from 'vitest'
import { cellName, inCell, parseCellName, splitOptions } from '#storage/cells/address.ts'

describe('names of cells', () => {
  test.each([
    ['cell_02', 2],
    ['cell_2', 2],
    ['2', 2],
    ['cell_00', 0],
    ['public', 0],
    ['cell_100', 100],
    ['cell', undefined],
    ['cell_-1', undefined],
    ['cell_0002', undefined],
    ['', undefined],
  ])('the cell name %j is read as number %j', (text, number) => expect(parseCellName(text)).toBe(number))

  test('have two digits or more', () =>
    expect([0, 1, 99, 100].map(cellName)).toEqual(['cell_00', 'cell_01', 'cell_99', 'cell_100']))
})

describe('the address of a cell', () => {
  const settings = 'options=-c%20search_path%3Dcell_01%20-c%20tollgate.cell%3D1'

  test.each([
    ['postgres://me:pw@host:5432/pay', `postgres://me:pw@host:5432/pay?${settings}`],
    ['postgres://me@/pay?host=/run/socket', `postgres://me@/pay?host=/run/socket&${settings}`],
    [
      'postgres://me@host/pay?options=-c%20jit%3Doff&sslmode=require',
      'postgres://me@host/pay?sslmode=require&options=-c%20jit%3Doff%20-c%20search_path%3Dcell_01%20-c%20tollgate.cell%3D1',
    ],
  ])('of %s', (url, address) => expect(inCell(url, 1)).toBe(address))

  test('of cell 0 is that of its database', () =>
    expect(inCell('postgres://me@host/pay?a=b', 0)).toBe('postgres://me@host/pay?a=b'))

  test('can be taken apart again', () =>
    expect(splitOptions(inCell('postgres://me@host/pay', 2))).toEqual({
      address: 'postgres://me@host/pay',
      options: '-c search_path=cell_02 -c tollgate.cell=2',
    }))
})
