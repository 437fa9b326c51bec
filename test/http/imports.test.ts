import assert from 'node:assert/strict'
import { afterEach, before, describe, test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { importCalls } from '../support/imports.ts'
import { amplePlan, assertError } from '../support/responses.ts'

const { service, call } = useCheckedCalls()
let key: string
before(async () => {
  const scopes = ['keys:manage', 'pets:read', 'pets:write', 'categories:read']
  ;({ key } = await service.makeKey({ ...amplePlan, scopes }))
})
const send = (method: string, path: string, options = {}) => call(method, path, { key, ...options })
const { upload, checked, remove, importAll } = importCalls(send)

/** One import at a time: each test begins without one. */
afterEach(async () => {
  for (const { id } of (await send('GET', '/v1/imports')).json) await remove(id)
})

describe('the check of a file', () => {
  test('reports categories that do not exist, unless it may create them', async () => {
    const [known, unknown] = ['Parrots', 'Yeti']
    await importAll(`name,category\nRio,${known}`, '?createCategories=true')
    const { wrongLines, expected } = await checked(`name,category\nRio,${unknown}\nBlu,${known}`)
    assert.equal(wrongLines.length, 1)
    assert.match(
      wrongLines[0].reason,
      new RegExp(`^category must be .*, but is "${unknown}" \\(the categories are`),
    )
    assert.deepEqual(expected, { added: 1, changed: 0, unchanged: 0, unlisted: 0 })
  })

  test('accepts a file whose columns are not recognized, for the caller to name them', async () => {
    const csv = 'Nickname,Sort\nLuna,7\nMilo,7'
    const { id, wrong, wrongLines, columns, total } = await checked(csv)
    assert.deepEqual([wrong, total], [2, 0])
    assert.equal(wrongLines[0].reason, 'a column name is required; a column category is required')
    assert.deepEqual(
      columns.map((column: { fields: string[] }) => column.fields),
      [[], []],
    )
    await remove(id)
    const named = await checked(csv, '?map=Nickname%3Dname&map=Sort%3DcategoryId')
    assert.deepEqual([named.wrong, named.total], [0, 2])
    assert.deepEqual(named.animals[0].category, '7')
  })

  test('ignores a column that the caller excludes, and never takes columns about people', async () => {
    const csv = 'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALCOLOR,PERSONNAME\nD1,Rex,Dog,Brown,Ada Example'
    const { id, from, columns, animals } = await checked(csv, '?createCategories=true&map=ANIMALCOLOR%3D')
    assert.equal(from, 'asm3')
    assert.deepEqual(animals[0].profile.colors, [])
    assert.deepEqual(columns.at(-1), { heading: 'PERSONNAME', fields: [], excluded: true })
    const database = await service.openDatabase()
    const rows = await database.read.selectFrom('import_batches').selectAll().execute()
    assert.ok(rows.length > 0 && !JSON.stringify(rows).includes('Ada'))
    await remove(id)
    assertError(await upload(csv, '?map=PERSONNAME%3Dname'), 400, 'validation_failed')
  })

  for (const [what, csv, query, message] of [
    ['a column that the file lacks', 'name,category\nA,1', '?map=Size%3Dsize', /no column "Size"/],
    ['an unknown field', 'name,category\nA,1', '?map=name%3Dshoe', /map must be a column and a field/],
    ['an unknown order', 'name,category\nA,1', '?dateOrder=ydm', /dateOrder must be one of/],
    ['an unknown currency', 'name,category\nA,1', '?currency=XXQ', /currency must be a currency code/],
    ['a header that cannot be read', '"name,category\nA,1', '', /^Line 1: .* not closed/],
    ['more than 500 columns', `name,category${','.repeat(499)}`, '', /has 501 columns/],
    [
      'a compressed file',
      Buffer.from([0x1f, 0x8b]),
      '',
      /^The file is compressed with gzip\. Decompress it first\.$/,
    ],
    [
      'another encoding',
      Buffer.from('name,Gr\xf6\xdfe\nA,1', 'latin1'),
      '',
      /not in UTF-8\. Save the spreadsheet as "CSV UTF-8" first/,
    ],
    ['NUL in a heading', 'Name,Type,Weight\0\nA,dog,12 kg', '', /no NUL character, but one is "Weight"/],
    ['NUL in the name of an attribute', 'name,category,b\nA,1,2', '?map=b%3Dattributes.a%00b', /map/],
    ['nothing but blank lines', '\n\n', '', /no header/],
    ['a spreadsheet', 'PK\x03\x04rest', '', /spreadsheet/],
    [
      'no animals to unlist by',
      'name,category\nA,1',
      '?missing=unlist',
      /^To unlist animals, the file needs/,
    ],
    ['no animals of a system', 'AnimalName,PrimaryBreed,NoDogs,ID,Type\n', '', /no animals/],
  ] as const)
    test(`is rejected with ${what}, and leaves nothing`, async () => {
      const response = await upload(csv, query)
      assertError(response, 400, 'validation_failed')
      assert.match(response.json.message, message)
      assert.deepEqual((await send('GET', '/v1/imports')).json, [])
    })

  test('takes 20 MiB of CSV and 100,000 lines at most', async () => {
    assertError(
      await upload('name,category\nA,1', '', { 'content-type': 'text/plain' }),
      415,
      'unsupported_media_type',
    )
    assertError(await upload(Buffer.alloc(20 * 1024 * 1024 + 1, 'a')), 413, 'body_too_large')
    const header = 'name,categoryId\n'
    for (const lines of [
      `${header}${'A,1\n'.repeat(100_001)}`,
      `${header}${'\n'.repeat(100_001)}`,
      '\n'.repeat(100_001),
    ]) {
      const tooMany = await upload(lines)
      assertError(tooMany, 400, 'validation_failed')
      assert.match(tooMany.json.message, /more than 100000 lines/)
    }
    assert.equal((await upload(`${header}A,1\n${'\n'.repeat(99_999)}`)).status, 201)
  })

  test('and all that belongs to it needs keys:manage', async () => {
    const { id } = await checked('name,category\nA,1')
    const scopes = ['pets:read', 'pets:write', 'categories:write']
    const other = (await service.makeKey({ ...amplePlan, scopes })).key
    const others = importCalls((method, path, options = {}) => call(method, path, { key: other, ...options }))
    for (const rejected of [others.upload('name\nA'), others.get(id), others.apply(id), others.remove(id)])
      assertError(await rejected, 403, 'insufficient_scope')
    assertError(await call('GET', '/v1/imports', { key: other }), 403, 'insufficient_scope')
  })
})
