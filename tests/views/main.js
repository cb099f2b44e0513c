'use strict';

require('./numbers');
require('./views');
require('./hostile');
require('./pictures');
require('./load');
require('./viewers');
require('./browser').run();
