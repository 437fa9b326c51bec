import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cliOnNewDatabase, lines } from '../support/commands.ts'
import { jpeg, picture } from '../support/images.ts'
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
  test('that cannot be imported are listed, and the others are imported', async (t) => {
    const { url, requests } = await photoServer(t, {
      '/good': await jpeg(),
      '/text': Buffer.from('hello'),
      '/broken': (await jpeg(400, 300)).subarray(0, 500),
      '/large': (response) => void response.writeHead(200, { 'content-length': 20_000_000 }).flushHeaders(),
      '/endless': (response) => {
        response.on('drain', () => response.write(Buffer.alloc(1_000_000)))
        while (response.write(Buffer.alloc(1_000_000)));
      },
      '/loop': redirect('/loop'),
      '/inside': redirect('http://10.0.0.1/secret.jpg'),
      '/file': redirect('file:///etc/passwd'),
    })
    const cli = await cliOnNewDatabase(t, loopbackAllowed)
    const names = ['good', 'text', 'broken', 'large', 'endless', 'loop', 'inside', 'file', 'missing']
    const text = csv(
      'Animal ID,Name,Species,Photo',
      ...names.map((name, at) => `${at},${name},Dog,${url}/${name}`),
      '10,word,Dog,luna.jpg',
    )
    const { code, stdout, stderr } = await cli.run([...importPhotos, '--json'], text)
    assert.equal(code, 3)
    assert.deepEqual(JSON.parse(stdout).photos, { ...noPhotos, added: 1, failed: 9 })
    const problems = lines(stderr.replaceAll(url, '')).sort()
    const expected = [
      'Line 10: The photo /missing is left out. The response has the status 404.',
      'Line 11: The photo luna.jpg is left out. It is not an address. --photos-from takes photos from a folder.',
      'Line 3: The photo /text is left out. It is not a JPEG, PNG or WebP image.',
      'Line 4: The photo /broken is left out. The image is damaged or incomplete. Export it again.',
      'Line 5: The photo /large is left out. The file has more than 10 MiB.',
      'Line 6: The photo /endless is left out. The file has more than 10 MiB.',
      'Line 7: The photo /loop is left out. The address redirects more than 3 times.',
      'Line 8: The photo /inside is left out. The address is not on the public internet. The operator can allow it with PETSTORE_WEBHOOK_ALLOW.',
      'Line 9: The photo /file is left out. The address must begin with https.',
    ]
    assert.deepEqual(problems, expected)
    assert.equal(requests.filter((path) => path === '/loop').length, 4)
    assert.equal(Object.keys(await animalsIn(cli)).length, 10)
  })

  test('that cannot be imported are listed with the beginning of their address, up to 20', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const long = `data:text/plain,${'x'.repeat(100_000)}`
    const rows = Array.from({ length: 23 }, (_, at) => `${at},Pet ${at},Dog,"${long}",,`)
    const { code, stdout, stderr } = await cli.run([...importPhotos, '--json'], csv(photoHeader, ...rows))
    assert.deepEqual([code, JSON.parse(stdout).photos], [3, { ...noPhotos, failed: 23 }])
    const problems = lines(stderr)
    assert.equal(problems.length, 21)
    assert.equal(problems[20], '3 more photos were left out.')
    assert.match(problems[0] ?? '', /^Line \d+: The photo data:text\/plain,x{84}… is left out\. /)
  })

  test('are not fetched from an address that is not public, unless the operator allows it', async (t) => {
    const { url, requests } = await photoServer(t, { '/a': await jpeg() })
    const cli = await cliOnNewDatabase(t)
    const { stderr } = await cli.run(importPhotos, csv(photoHeader, `1,Milo,Dog,${url}/a,,`))
    assert.match(stderr, /The address is not on the public internet/)
    assert.deepEqual(requests, [])
  })

  test('can be in the file', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const bytes = (await picture(60, 40).jpeg().toBuffer()).toString('base64')
    const text = csv(
      'ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALIMAGE',
      `1,Milo,Dog,"data:image/jpg;base64,${bytes}"`,
    )
    assert.deepEqual((await cli.json(importPhotos, text)).photos, { ...noPhotos, added: 1 })
    assert.deepEqual((await cli.json(importPhotos, text)).photos, { ...noPhotos, unchanged: 1 })
  })
})

const sourcesIn = async (cli: { export(): Promise<string> }) =>
  Object.fromEntries(
    Object.entries(await animalsIn(cli)).map(([name, { photos }]) => [
      name,
      photos.map(({ source }) => source.replace(/#.*/, '')),
    ]),
  )

test('the photos of a folder are found by the cells, the number or the name of an animal', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const folder = folderFor(t)
  const image = await jpeg(40, 30)
  for (const name of [
    'A-1.jpg',
    'A-1-2.JPG',
    'A-1 (3).jpeg',
    'A-12.jpg',
    'luna.png',
    'Luna_2.png',
    'x y.webp',
    'Twin.jpg',
  ])
    writeFileSync(join(folder, name), image)
  // Only files of the folder itself are photos.
  symlinkSync(join(folder, 'A-1.jpg'), join(folder, 'A-5.jpg'))
  mkdirSync(join(folder, 'A-4.jpg'))
  const text = csv(
    'Animal ID,Name,Species,Photos',
    ...['A-1,Milo,Dog,', 'A-2,Luna,Dog,', 'A-3,Rex,Dog,https://a.example/p/x%20y.webp?v=1', 'A-4,Twin,Dog,'],
    ...['A-5,Twin,Dog,', 'A-6,Bad,Dog,../../etc/none.jpg', 'A-7,Win,Dog,C:\\photos\\luna.png'],
  )
  const { code, stdout, stderr } = await cli.run([...importFromFolder(folder), '--json'], text)
  const { photos, unusedPhotos } = JSON.parse(stdout)
  assert.deepEqual([code, photos], [3, { ...noPhotos, added: 7, failed: 1 }])
  assert.deepEqual(unusedPhotos, ['A-12.jpg', 'Twin.jpg'])
  assert.match(
    stderr,
    /^Line 7: The photo file:\.\.\/\.\.\/etc\/none\.jpg is left out\. There is no such file in the folder\.\n$/,
  )
  assert.deepEqual(await sourcesIn(cli), {
    Milo: ['file:A-1.jpg', 'file:A-1-2.JPG', 'file:A-1 (3).jpeg'],
    Luna: ['file:luna.png', 'file:Luna_2.png'],
    Rex: ['file:x y.webp'],
    Twin: [],
    Bad: [],
    Win: ['file:luna.png'],
  })
  for (let at = 1; at <= 5; at++) writeFileSync(join(folder, `Zoe-${at}.jpg`), image)
  const again = await cli.run(importFromFolder(folder), text)
  const unused = 'A-12.jpg, Twin.jpg, Zoe-1.jpg, Zoe-2.jpg, Zoe-3.jpg and 2 more.'
  assert.ok(lines(again.stdout).includes(`7 photos in the folder were not used: ${unused}`))
})

test('the photos of a folder are up to 20 for each animal', async (t) => {
  const cli = await cliOnNewDatabase(t)
  const folder = folderFor(t)
  const image = await jpeg(40, 30)
  for (let at = 1; at <= 22; at++) writeFileSync(join(folder, `Milo-${at}.jpg`), image)
  const text = csv('name,category', 'Milo,Dog')
  const { code, stdout, stderr } = await cli.run([...importFromFolder(folder), '--json'], text)
  const { photos, unusedPhotos } = JSON.parse(stdout)
  assert.deepEqual([code, photos], [3, { ...noPhotos, added: 20, failed: 2 }])
  assert.equal(unusedPhotos, undefined)
  assert.deepEqual(lines(stderr), [
    'Line 2: The photo file:Milo-21.jpg is left out. An animal can have 20 photos.',
    'Line 2: The photo file:Milo-22.jpg is left out. An animal can have 20 photos.',
  ])
})
