import { installRules, launch, startDemo, visit } from '/tmp/wt/co/tests/console/browser.ts';

const [hash = '', out = 'a', width = '1440', dark = ''] = process.argv.slice(2);
const service = await startDemo();
try {
  await installRules(service);
  const browser = await launch();
  const { page, complaints } = await visit(browser, service, { width: Number(width), dark: dark === 'dark' });
  if (hash) await page.goto(service.base + '/#' + hash);
  await page.waitForTimeout(2500);
  await page.screenshot({ path: `/tmp/shots/${out}.png` });
  console.log(complaints);
  await browser.close();
} finally {
  await service.stop();
}
