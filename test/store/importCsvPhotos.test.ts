import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cliOnNewDatabase, lines } from '../support/commands.ts'
import { jpeg, png } from '../support/images.ts'
import {
  csv,
  importFromFolder,
  importPhotos,
  noPhotos,
  photoHeader,
  photoServer,
  redirect,
} from '../support/importedPhotos.ts'
import { animalsIn } from '../support/importedStore.ts'
import { folderFor } from '../support/servers.ts'
import { loopbackAllowed } from '../support/webhookReceiver.ts'

describe('the photos of an imported file', { concurrency: 2 }, () => {
  test('are fetched once, and again only if their addresses change', async (t) => {
    const { url, requests } = await photoServer(t, {
      '/a': await jpeg(),
      '/b': await png(),
      '/c': await jpeg(300, 900),
      '/moved': redirect('/a?moved'),
      '/a?moved': await jpeg(),
    })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    const first = csv(
      photoHeader,
      `1,Milo,Dog,${url}/a,${url}/b,`,
      `2,Luna,Dog,${url}/moved,,`,
      '3,Rex,Dog,,,',
    )
    assert.deepEqual((await cli.json(importPhotos, first)).photos, { ...noPhotos, added: 3 })
    const sourcesOf = async (name: string) =>
      ((await animalsIn(cli))[name]?.photos ?? []).map(({ source }) => source.replace(url, ''))
    assert.deepEqual(await sourcesOf('Milo'), ['/a', '/b'])
    assert.deepEqual(await sourcesOf('Luna'), ['/moved'])

    const fetched = requests.length
    assert.deepEqual((await cli.json(importPhotos, first)).photos, { ...noPhotos, unchanged: 3 })
    assert.equal(requests.length, fetched)

    const output = await cli.ok(
      importPhotos,
      csv(photoHeader, `1,Milo,Dog,${url}/c,${url}/b,`, '2,Luna,Dog,,,'),
    )
    assert.match(output, /\nPhotos: 1 added, 1 unchanged, 1 removed, 0 could not be imported\.\n/)
    assert.deepEqual(await sourcesOf('Milo'), ['/c', '/b'])
    assert.deepEqual(await sourcesOf('Luna'), ['/moved'], 'a blank cell says nothing')
    const [tall] = (await animalsIn(cli)).Milo?.photos ?? []
    assert.deepEqual([tall.width, tall.height], [300, 900])
  })

  test('stay known in another database', async (t) => {
    const { url, requests } = await photoServer(t, { '/a': await jpeg() })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    const text = csv(photoHeader, `1,Milo,Dog,${url}/a,,`)
    await cli.ok(importPhotos, text)
    const other = await cliOnNewDatabase(t, loopbackAllowed)
    await other.ok(['import', '--with-keys'], await cli.export())
    assert.deepEqual((await other.json(importPhotos, text)).photos, { ...noPhotos, unchanged: 1 })
    assert.equal(requests.length, 1)
  })

  test('that were uploaded stay, and come first as before', async (t) => {
    const { url } = await photoServer(t, { '/a': await jpeg(), '/b': await jpeg() })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    await cli.ok(importPhotos, csv(photoHeader, `1,Milo,Dog,${url}/b,,`))
    const exported = lines(await cli.export()).map((line) => JSON.parse(line))
    const { source: _, ...photo } = exported.find(({ type }) => type === 'photo')
    const upload = { ...photo, id: 99, token: 'u'.repeat(22), position: -1 + 1 }
    const moved = { ...photo, position: 1 }
    await cli.ok(['import'], [moved, upload].map((each) => JSON.stringify(each)).join('\n'))
    const { photos } = await cli.json(importPhotos, csv(photoHeader, `1,Milo,Dog,${url}/a,${url}/b,`))
    assert.deepEqual(photos, { ...noPhotos, added: 1, unchanged: 1 })
    const sources = ((await animalsIn(cli)).Milo?.photos ?? []).map(({ source }) => source?.slice(-2))
    assert.deepEqual(sources, [undefined, '/a', '/b'])
  })
})

test('the photos of a folder are imported again if the file has changed', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const folder = folderFor(t)
  const text = csv('name,category', 'Milo,Dog')
  writeFileSync(join(folder, 'milo.jpg'), await jpeg(40, 30))
  assert.deepEqual((await cli.json(importFromFolder(folder), text)).photos, { ...noPhotos, added: 1 })
  const own = csv('Animal ID,name,category', '7,Milo II,Dog')
  writeFileSync(join(folder, '7.jpg'), await jpeg(40, 30))
  assert.deepEqual((await cli.json(importFromFolder(folder), own)).photos, { ...noPhotos, added: 1 })
  assert.deepEqual((await cli.json(importFromFolder(folder), own)).photos, { ...noPhotos, unchanged: 1 })
  writeFileSync(join(folder, '7.jpg'), await jpeg(30, 40))
  assert.deepEqual((await cli.json(importFromFolder(folder), own)).photos, {
    ...noPhotos,
    added: 1,
    removed: 1,
  })
})
